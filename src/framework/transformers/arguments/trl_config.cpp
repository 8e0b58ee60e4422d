// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/arguments/trl_config.h"

#include <algorithm>
#include <array>

namespace memtape::transformers {
namespace {

constexpr std::array kConfigs{&kSft, &kDpo, &kReward, &kGrpo, &kKto, &kRloo, &kCpo, &kOrpo};
/// Whose own fields are looked for first.
constexpr std::array kNarrowestFirst{&kRloo, &kGrpo, &kCpo, &kKto, &kReward, &kDpo, &kSft};

/// torch.optim.AdamW's own form and DistributedDataParallel's own defaults, no clipping.
void start_plain_loop(TrainRecipe& recipe) {
  recipe.program.is_plain_loop = true;
  recipe.trainer.optim = "adamw_torch";
  recipe.optimizer_impl = OptimizerImpl::foreach;
  recipe.max_grad_norm.reset();
  recipe.trainer.ddp.find_unused_parameters = false;
}

/// trl's configurations begin with checkpointing, and with bf16 unless fp16 is asked for.
void start_trl(std::span<const NamedValue> options, TrainRecipe& recipe) {
  const std::string* fp16 = last_value(options, "fp16");
  const bool half = fp16 && option::read_on_off("fp16", *fp16).value_or(false);
  recipe.checkpointing = Checkpointing::full;
  recipe.precision = half ? Precision::fp32 : Precision::amp_bf16;
}

/// By the field that only one of them has.
const TrlConfig* config_by_field(std::span<const NamedValue> options) {
  for (const TrlConfig* config : kNarrowestFirst)
    if (std::ranges::any_of(options, [&](const auto& o) { return config->has_own(o.first); }))
      return config;
  return nullptr;
}

const TrlConfig* config_of(const TrainerRecipe& trainer) {
  if (trainer.grpo) return trainer.grpo->leaves_one_out ? &kRloo : &kGrpo;
  if (trainer.cpo) return trainer.cpo->takes_odds_ratio ? &kOrpo : &kCpo;
  if (trainer.kto) return &kKto;
  if (trainer.reward) return &kReward;
  if (trainer.dpo) return &kDpo;
  return trainer.sft ? &kSft : nullptr;
}

}  // namespace

std::vector<std::string_view> TrlConfig::own_names() const {
  std::vector<std::string_view> names;
  for (const Argument& row : own) names.push_back(row.name());
  option::each_word(own_without_effect,
                    [&names](std::string_view spelling) { names.push_back(spelling.substr(2)); });
  return names;
}

bool TrlConfig::has_own(std::string_view field) const {
  return find(own, field) || lists(own_without_effect, field);
}

bool TrlConfig::takes_from_base(std::string_view field) const {
  if (!base || !base->has(field)) return false;
  return not_of_base.empty() ? lists(of_base, field) : !lists(not_of_base, field);
}

bool TrlConfig::has(std::string_view field) const {
  return has_own(field) || find(shared, field) || lists(shared_without_effect, field) ||
         takes_from_base(field);
}

Result<void> TrlConfig::set(const NamedValue& given, TrainRecipe& recipe) const {
  for (const std::span<const Argument> rows : {own, shared})
    if (const Argument* row = find(rows, given.first))
      return transformers::set(*row, given.second, recipe);
  if (lists(own_without_effect, given.first) || lists(shared_without_effect, given.first))
    return {};
  if (takes_from_base(given.first)) return base->set(given, recipe);
  return bad_input(std::string(name) + " has no such field", "--" + given.first,
                   lists(not_of_base, given.first) ? std::string(base->name) + " has it"
                                                   : "another of trl's configurations has it");
}

std::span<const TrlConfig* const> trl_configs() { return kConfigs; }

const TrlConfig* trl_config(std::string_view trainer) {
  const auto at = std::ranges::find(kConfigs, trainer, &TrlConfig::trainer);
  return at == kConfigs.end() ? nullptr : *at;
}

std::vector<std::string_view> trl_spellings() {
  std::vector<std::string_view> all;
  const auto add = [&all](std::string_view spelling) {
    if (std::ranges::find(all, spelling) == all.end()) all.push_back(spelling);
  };
  for (const TrlConfig* config : kConfigs) {
    for (const Argument& row : config->own) add(row.spellings);
    option::each_word(config->own_without_effect, add);
  }
  return all;
}

bool is_trl_argument(std::string_view name) {
  return std::ranges::any_of(kConfigs,
                             [&](const TrlConfig* config) { return config->has_own(name); });
}

Result<void> set_trl_argument(const NamedValue& given, TrainRecipe& recipe) {
  if (const TrlConfig* config = config_of(recipe.trainer)) return config->set(given, recipe);
  return bad_input("a field of trl's configurations", "--" + given.first,
                   "--trainer sft, dpo, reward, grpo, kto, rloo, cpo or orpo");
}

void start_trainer(std::span<const NamedValue> options, TrainRecipe& recipe) {
  using Preference = ProgramRecipe::Preference;
  const std::string* named = last_value(options, "trainer");
  if (named && *named == "none") return start_plain_loop(recipe);
  if (named && *named == "llama-factory-dpo") recipe.program.preference = Preference::sigmoid;
  if (named && *named == "llama-factory-kto") recipe.program.preference = Preference::kto;
  if (named && *named == "llama-factory-rm") recipe.program.preference = Preference::pairwise;
  const TrlConfig* config = named ? trl_config(*named) : config_by_field(options);
  if (!config) return;
  start_trl(options, recipe);
  config->start(recipe);
}

void cut_sequences(std::span<const NamedValue> options, TrainRecipe& recipe) {
  if (!recipe.trainer.max_length) return;
  const std::int64_t most = *recipe.trainer.max_length;
  const bool packs = recipe.trainer.sft && recipe.trainer.sft->packing;
  const bool as_long = packs || !last_value(options, "sequence-length");
  recipe.sequence_length = as_long ? most : std::min(recipe.sequence_length, most);
}

Result<void> settle_trl(std::span<const NamedValue> options, TrainRecipe& recipe) {
  if (recipe.trainer.dpo && recipe.trainer.dpo->loss_types.empty())
    recipe.trainer.dpo->loss_types = {"sigmoid"};
  if (const Result<void> settled = settle_sft(recipe); !settled) return settled;
  if (const Result<void> settled = settle_cpo(recipe); !settled) return settled;
  return settle_grpo(options, recipe);
}

}  // namespace memtape::transformers
