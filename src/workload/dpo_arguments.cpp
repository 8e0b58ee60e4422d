// SPDX-License-Identifier: Apache-2.0
#include "workload/dpo_arguments.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "workload/sft_arguments.h"
#include "workload/trl_trainer.h"
#include "workload/typed_values.h"

namespace memtape {
namespace {

constexpr auto kDpoOwn = std::to_array<std::string_view>(
    {"precompute_ref_log_probs", "precompute_ref_batch_size", "disable_dropout", "beta",
     "loss_weights", "ld_alpha", "f_divergence_type", "f_alpha_divergence_coef", "label_smoothing",
     "use_weighting", "discopop_tau", "sync_ref_model", "ref_model_mixup_alpha",
     "ref_model_sync_steps"});

/// Of SFTConfig, and not of DPOConfig.
constexpr auto kOnlyOfSft = std::to_array<std::string_view>(
    {"packing", "packing_strategy", "completion_only_loss", "assistant_only_loss",
     "dataset_text_field", "dataset_kwargs", "chat_template_path", "eos_token", "eval_packing",
     "shuffle_dataset", "packed_sequences"});

constexpr auto kDpoLosses = std::to_array<std::string_view>(
    {"sigmoid", "hinge", "ipo", "exo_pair", "nca_pair", "robust", "bco_pair", "sppo_hard", "aot",
     "aot_unpaired", "apo_zero", "apo_down", "discopop", "sft", "sigmoid_norm"});

constexpr auto kDivergences = std::to_array<std::string_view>(
    {"reverse_kl", "forward_kl", "js_divergence", "alpha_divergence"});

/// `--loss_type` may be repeated; each occurrence adds one loss.
Result<void> add_loss_type(const NamedValue& option, DpoRecipe& dpo) {
  if (std::ranges::find(kDpoLosses, option.second) == kDpoLosses.end())
    return wrong_value(option, suggestion(option.second, kDpoLosses));
  dpo.loss_types.push_back(option.second);
  return {};
}

Result<void> set_divergence(const NamedValue& option, DpoRecipe& dpo) {
  if (std::ranges::find(kDivergences, option.second) == kDivergences.end())
    return wrong_value(option, suggestion(option.second, kDivergences));
  dpo.f_divergence_type = option.second;
  return {};
}

/// trl 1.16 pads all the same, and says so.
Result<void> pass_padding_free_over(const NamedValue& option, TrainRecipe& recipe) {
  bool on = false;
  const Result<void> done = put(boolean(option), on);
  if (done && on)
    recipe.assumed.emplace_back(
        "trl 1.16's DPOTrainer pads its batches whatever padding_free says");
  return done;
}

Result<void> refuse(const NamedValue& option) {
  const Result<bool> on = boolean(option);
  if (!on) return tl::unexpected(on.error());
  if (*on) return unsupported("not modelled", "--" + option.first, "false");
  return {};
}

}  // namespace

std::span<const std::string_view> dpo_argument_names() { return kDpoOwn; }

bool is_dpo_argument(std::string_view name) {
  return std::ranges::find(kDpoOwn, name) != kDpoOwn.end();
}

bool asks_for_dpo(std::span<const NamedValue> options) {
  return asks_for(options, "dpo", is_dpo_argument);
}

void set_dpo_defaults(std::span<const NamedValue> options, TrainRecipe& recipe) {
  set_trl_defaults(options, recipe);
  recipe.trainer.dpo.emplace();
  recipe.trainer.max_length = 1024;
}

Result<void> check_sync_ref_model(const NamedValue& option) {
  const Result<bool> on = boolean(option);
  return on ? Result<void>() : tl::unexpected(on.error());
}

void settle_dpo(TrainRecipe& recipe) {
  if (recipe.trainer.dpo && recipe.trainer.dpo->loss_types.empty())
    recipe.trainer.dpo->loss_types = {"sigmoid"};
}

Result<void> set_dpo_argument(const NamedValue& option, TrainRecipe& recipe) {
  DpoRecipe& dpo = *recipe.trainer.dpo;
  const std::string& name = option.first;
  if (name == "precompute_ref_log_probs") return put(boolean(option), dpo.precompute_ref_log_probs);
  if (name == "disable_dropout") return put(boolean(option), dpo.disable_dropout);
  if (name == "loss_type") return add_loss_type(option, dpo);
  if (name == "f_divergence_type") return set_divergence(option, dpo);
  if (name == "padding_free") return pass_padding_free_over(option, recipe);
  if (name == "ld_alpha" && option.second != "None")
    return unsupported("not modelled", "--" + name, "leave it out");
  if (name == "use_weighting") return refuse(option);
  if (name == "sync_ref_model") return check_sync_ref_model(option);
  if (is_dpo_argument(name)) return {};
  if (std::ranges::find(kOnlyOfSft, name) != kOnlyOfSft.end())
    return bad_input("DPOConfig has no such field", "--" + name, "SFTConfig has it");
  return set_sft_argument(option, recipe);
}

}  // namespace memtape
