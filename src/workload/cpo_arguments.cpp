// SPDX-License-Identifier: Apache-2.0
#include "workload/cpo_arguments.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "workload/sft_arguments.h"
#include "workload/trl_trainer.h"
#include "workload/typed_values.h"

namespace memtape {
namespace {

constexpr auto kOnlyOfCpo = std::to_array<std::string_view>({"cpo_alpha", "simpo_gamma", "alpha"});
constexpr auto kCpoOwn =
    std::to_array<std::string_view>({"cpo_alpha", "simpo_gamma", "alpha", "padding_value",
                                     "generate_during_eval", "is_encoder_decoder"});
/// Other configurations' that these have, too, and that change no figure.
constexpr auto kCpoNeutral = std::to_array<std::string_view>(
    {"beta", "max_completion_length", "simpo_gamma", "padding_value", "is_encoder_decoder"});
/// SFTConfig's that these have, too.
constexpr auto kCpoShared = std::to_array<std::string_view>(
    {"max_length", "model_init_kwargs", "trust_remote_code", "dataset_num_proc"});
constexpr auto kCpoLosses =
    std::to_array<std::string_view>({"sigmoid", "hinge", "ipo", "simpo", "alphapo"});

bool is_among_cpo(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool asks_for_orpo(std::span<const NamedValue> options) {
  return asks_for(options, "orpo", [](std::string_view) { return false; });
}

/// alphapo is simpo without the chosen sequences' likelihood, whatever cpo_alpha says.
Result<void> set_loss_type(const NamedValue& option, CpoRecipe& cpo) {
  if (!is_among_cpo(kCpoLosses, option.second))
    return wrong_value(option, suggestion(option.second, kCpoLosses));
  cpo.loss_type = option.second;
  return {};
}

Result<void> set_alpha(const NamedValue& option, CpoRecipe& cpo) {
  double alpha = 0;
  const Result<void> done = put(not_negative(option), alpha);
  cpo.transforms_rewards = alpha != 0.0;
  return done;
}

Result<void> refuse_generation(const NamedValue& option) {
  const Result<bool> on = boolean(option);
  if (!on) return tl::unexpected(on.error());
  if (*on) return unsupported("not modelled", "--" + option.first, "false");
  return {};
}

}  // namespace

std::span<const std::string_view> cpo_argument_names() { return kCpoOwn; }

bool is_cpo_argument(std::string_view name) { return is_among_cpo(kCpoOwn, name); }

bool asks_for_cpo(std::span<const NamedValue> options) {
  return asks_for_orpo(options) || asks_for(options, "cpo", is_cpo_argument);
}

void set_cpo_defaults(std::span<const NamedValue> options, TrainRecipe& recipe) {
  set_trl_defaults(options, recipe);
  recipe.trainer.cpo.emplace();
  recipe.trainer.cpo->takes_odds_ratio = asks_for_orpo(options);
  recipe.trainer.max_length = 1024;
}

Result<void> set_cpo_argument(const NamedValue& option, TrainRecipe& recipe) {
  CpoRecipe& cpo = *recipe.trainer.cpo;
  const std::string& name = option.first;
  if (cpo.takes_odds_ratio && (is_among_cpo(kOnlyOfCpo, name) || name == "loss_type"))
    return bad_input("ORPOConfig has no such field", "--" + name, "CPOConfig has it");
  if (name == "disable_dropout") return put(boolean(option), cpo.disable_dropout);
  if (name == "prompt_length") return put(positive(option), cpo.prompt_length);
  if (name == "loss_type") return set_loss_type(option, cpo);
  if (name == "cpo_alpha") return put(not_negative(option), cpo.cpo_alpha);
  if (name == "alpha") return set_alpha(option, cpo);
  if (name == "generate_during_eval") return refuse_generation(option);
  if (name == "label_smoothing" && !cpo.takes_odds_ratio) return {};
  if (is_among_cpo(kCpoNeutral, name)) return {};
  if (is_among_cpo(kCpoShared, name)) return set_sft_argument(option, recipe);
  return bad_input(
      std::string(cpo.takes_odds_ratio ? "ORPOConfig" : "CPOConfig") + " has no such field",
      "--" + name, "another of trl's configurations has it");
}

Result<void> settle_cpo(TrainRecipe& recipe) {
  if (!recipe.trainer.cpo) return {};
  CpoRecipe& cpo = *recipe.trainer.cpo;
  if (cpo.loss_type == "alphapo") {
    cpo.loss_type = "simpo";
    cpo.cpo_alpha = 0.0;
  }
  cpo.prompt_length =
      cpo.prompt_length.value_or(std::max<std::int64_t>(1, recipe.sequence_length / 2));
  if (*cpo.prompt_length < recipe.sequence_length) return {};
  return bad_input("a sequence holds a prompt and a completion", "--prompt_length",
                   "less than " + std::to_string(recipe.sequence_length));
}

}  // namespace memtape
