// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/arguments/trl_config.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "framework/transformers/arguments/trl_earlier_fields.h"

namespace memtape::transformers {
namespace {

constexpr std::array kConfigs{&kSft, &kDpo, &kReward, &kGrpo, &kKto, &kRloo, &kCpo, &kOrpo};
/// Whose own fields are looked for first.
constexpr std::array kNarrowestFirst{&kRloo, &kGrpo, &kCpo, &kKto, &kReward, &kDpo, &kSft};

/// The first row of that name: the one of the configuration whose own field it is.
const TrlField* first_of(std::string_view name) {
  const auto fields = trl_fields();
  const auto at = std::ranges::find(fields, name, [](auto& row) { return row.argument.name(); });
  return at == fields.end() ? nullptr : &*at;
}

/// torch.optim.AdamW's own form and DistributedDataParallel's own defaults, no clipping.
void start_plain_loop(TrainRecipe& recipe) {
  recipe.program.is_plain_loop = true;
  trainer_of(recipe).optim = "adamw_torch";
  recipe.optimizer_impl = OptimizerImpl::foreach;
  recipe.max_grad_norm.reset();
  trainer_of(recipe).ddp.find_unused_parameters = false;
}

/// trl's configurations begin with checkpointing, and with bf16 unless fp16 is asked for.
void start_trl(std::span<const NamedValue> options, TrainRecipe& recipe) {
  const std::string* fp16 = last_value(options, "fp16");
  const bool half = fp16 && option::read_on_off("fp16", *fp16).value_or(false);
  recipe.checkpointing = Checkpointing::full;
  recipe.precision = half ? Precision::fp32 : Precision::amp_bf16;
}

/// The one that is named, or whose own field is given.
const TrlConfig* config_asked_for(std::span<const NamedValue> options) {
  if (const std::string* named = last_value(options, "trainer")) {
    const auto at = std::ranges::find(kConfigs, *named, &TrlConfig::trainer);
    return at == kConfigs.end() ? nullptr : *at;
  }
  for (const TrlConfig* config : kNarrowestFirst)
    if (std::ranges::any_of(options, [&](const auto& o) { return config->has_own(o.first); }))
      return config;
  return nullptr;
}

}  // namespace

void TrlConfig::start(TrainRecipe& recipe) const {
  recipe.trl = which;
  begin(trainer_of(recipe));
}

std::vector<std::string_view> TrlConfig::own_names() const {
  std::vector<std::string_view> names;
  for (const TrlField& row : trl_fields())
    if (has_own(row.argument.name())) names.push_back(row.argument.name());
  return names;
}

bool TrlConfig::has_own(std::string_view field) const {
  const TrlField* first = first_of(field);
  return first && std::countr_zero(first->of) == std::countr_zero(bit());
}

const Argument* TrlConfig::find(std::string_view field) const {
  for (const TrlField& row : trl_fields())
    if ((row.of & bit()) != 0 && row.argument.name() == field) return &row.argument;
  return nullptr;
}

std::span<const TrlConfig* const> trl_configs() { return kConfigs; }

bool is_trl_argument(std::string_view name) {
  return first_of(name) != nullptr ||
         std::ranges::any_of(earlier_trl_fields(), [name](const EarlierTrlField& row) {
           return row.argument.name() == name;
         });
}

Result<void> set_trl_field(const option::Said& said, TrainRecipe& recipe) {
  const std::string where = "--" + std::string(said.name());
  if (!recipe.is_of_trl())
    return bad_input("a field of trl's configurations", where,
                     "--trainer sft, dpo, reward, grpo, kto, rloo, cpo or orpo");
  const TrlConfig* config = kConfigs[static_cast<std::size_t>(recipe.trl) - 1];
  const Version release = recipe.release.of(Package::trl);
  const EarlierTrlField* earlier = nullptr;
  for (const EarlierTrlField& row : earlier_trl_fields())
    if ((row.of & config->bit()) != 0 && row.argument.name() == said.name()) earlier = &row;
  if (earlier && earlier->is_in(release)) return tell(earlier->argument, said.text, recipe);
  if (const Argument* field = config->find(said.name())) return tell(*field, said.text, recipe);
  if (earlier)
    return bad_input(fmt::format("trl {}'s {} has no such field", release.text(), config->name),
                     where,
                     fmt::format("trl {}.{} to {}.{} have it: --with trl=={}", earlier->first.major,
                                 earlier->first.minor, earlier->last.major, earlier->last.minor,
                                 earlier->last.text()));
  const bool base_has_it = config->base && config->base->find(said.name());
  return bad_input(std::string(config->name) + " has no such field", where,
                   std::string(base_has_it ? config->base->name
                                           : std::string_view("another of trl's configurations")) +
                       " has it");
}

void start_trainer(std::span<const NamedValue> options, TrainRecipe& recipe) {
  using Preference = ProgramRecipe::Preference;
  const std::string* named = last_value(options, "trainer");
  if (named && *named == "none") return start_plain_loop(recipe);
  if (named && *named == "llama-factory-dpo") recipe.program.preference = Preference::sigmoid;
  if (named && *named == "llama-factory-kto") recipe.program.preference = Preference::kto;
  if (named && *named == "llama-factory-rm") recipe.program.preference = Preference::pairwise;
  const TrlConfig* config = config_asked_for(options);
  if (!config) return;
  start_trl(options, recipe);
  config->start(recipe);
}

void cut_sequences(TrainRecipe& recipe) {
  const std::optional<DpoRecipe>& dpo = trainer_of(recipe).dpo;
  std::optional<std::int64_t>& max_length = trainer_of(recipe).max_length;
  if (dpo && dpo->max_prompt_length && dpo->max_completion_length) {  // both parts are cut
    const std::int64_t parts = *dpo->max_prompt_length + *dpo->max_completion_length;
    max_length = max_length ? std::min(*max_length, parts) : parts;
  }
  if (!trainer_of(recipe).max_length) return;
  const std::int64_t most = *trainer_of(recipe).max_length;
  const bool packs = trainer_of(recipe).sft && trainer_of(recipe).sft->packing;
  const bool as_long = packs || !recipe.names_sequence_length;
  recipe.sequence_length = as_long ? most : std::min(recipe.sequence_length, most);
}

}  // namespace memtape::transformers
