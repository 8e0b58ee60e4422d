// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/arguments/trl_config.h"

#include <algorithm>
#include <bit>

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

/// How many sequences the rows of a micro-batch hold, where they hold several.
Result<void> settle_packed_sequences(SftRecipe& sft, TrainRecipe& recipe) {
  const std::int64_t rows = recipe.micro_batch_size;
  if (!sft.packing || !sft.flattens() || sft.wraps) {
    if (sft.packed_sequences)
      return bad_input("only rows that are packed hold several sequences", "--packed_sequences",
                       "--packing true with the strategy bfd or bfd_split");
    sft.packed_sequences = rows;
    return {};
  }
  if (!sft.packed_sequences)
    recipe.assumed.emplace_back(
        "each row is taken to hold two sequences: --packed_sequences says how many a micro-batch "
        "holds; with more of them a little less is kept for the loss");
  sft.packed_sequences = sft.packed_sequences.value_or(2 * rows);
  if (*sft.packed_sequences >= rows && *sft.packed_sequences <= rows * recipe.sequence_length / 2)
    return {};
  return bad_input(
      "a row holds one sequence at least, and a sequence two tokens", "--packed_sequences",
      "from " + std::to_string(rows) + " to " + std::to_string(rows * recipe.sequence_length / 2));
}

Result<void> settle_sft(SftRecipe& sft, TrainRecipe& recipe) {
  if (sft.loss_type == "chunked_nll") sft.loss_type = "nll";
  if (sft.packing && !trainer_of(recipe).max_length)
    return bad_input("rows are packed to max_length", "--max_length", "a number of tokens");
  if (sft.padding_free && !sft.packing && trainer_of(recipe).max_length)
    return bad_input("SFTTrainer refuses padding_free with a max_length that nothing enforces",
                     "--max_length", "None, or --packing true");
  return settle_packed_sequences(sft, recipe);
}

Result<void> settle_cpo(CpoRecipe& cpo, std::int64_t sequence_length) {
  if (cpo.loss_type == "alphapo") {  // simpo without the chosen sequences' likelihood
    cpo.loss_type = "simpo";
    cpo.cpo_alpha = 0.0;
  }
  cpo.prompt_length = cpo.prompt_length.value_or(std::max<std::int64_t>(1, sequence_length / 2));
  if (*cpo.prompt_length < sequence_length) return {};
  return bad_input("a sequence holds a prompt and a completion", "--prompt_length",
                   "less than " + std::to_string(sequence_length));
}

/// __post_init__'s steps_per_generation and generation_batch_size.
Result<void> settle_batches(GrpoRecipe& grpo, const TrainRecipe& recipe) {
  const std::int64_t batch = recipe.micro_batch_size;
  if (grpo.generation_batch_size && grpo.steps_per_generation)
    return bad_input("generation_batch_size and steps_per_generation exclude each other",
                     "--generation_batch_size", "one of the two");
  if (grpo.generation_batch_size && *grpo.generation_batch_size % batch != 0)
    return bad_input("no multiple of the batch of a device", "--generation_batch_size",
                     "a multiple of " + std::to_string(batch));
  if (grpo.generation_batch_size)
    grpo.steps_per_generation = *grpo.generation_batch_size / batch;
  else
    grpo.steps_per_generation = grpo.steps_per_generation.value_or(recipe.gradient_accumulation);
  grpo.generation_batch_size = batch * *grpo.steps_per_generation;
  if (grpo.num_generations < 2)
    return bad_input("the completions of a prompt are compared", "--num_generations", "2 or more");
  if (*grpo.generation_batch_size % grpo.num_generations != 0)
    return bad_input(
        "the completions made at once, " + std::to_string(*grpo.generation_batch_size) +
            ", are no multiple of those of a prompt",
        "--num_generations", "a divisor of it, or another --per_device_train_batch_size");
  return {};
}

Result<void> settle_grpo(GrpoRecipe& grpo, TrainRecipe& recipe) {
  constexpr std::int64_t kPrompt = 512;
  const std::int64_t completion = grpo.max_completion_length;
  if (!grpo.prompt_length && recipe.names_sequence_length) {
    if (recipe.sequence_length <= completion)
      return bad_input("a sequence holds a prompt and max_completion_length tokens",
                       "--sequence-length", "more than " + std::to_string(completion));
    grpo.prompt_length = recipe.sequence_length - completion;
  }
  if (!grpo.prompt_length)
    recipe.assumed.push_back("prompts are taken to be " + std::to_string(kPrompt) +
                             " tokens long: --prompt_length says how long they are");
  grpo.prompt_length = grpo.prompt_length.value_or(kPrompt);
  recipe.sequence_length = *grpo.prompt_length + completion;
  return settle_batches(grpo, recipe);
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

bool is_trl_argument(std::string_view name) { return first_of(name) != nullptr; }

Result<void> set_trl_field(const option::Said& said, TrainRecipe& recipe) {
  const std::string where = "--" + std::string(said.name());
  if (!recipe.is_of_trl())
    return bad_input("a field of trl's configurations", where,
                     "--trainer sft, dpo, reward, grpo, kto, rloo, cpo or orpo");
  const TrlConfig* config = kConfigs[static_cast<std::size_t>(recipe.trl) - 1];
  if (const Argument* field = config->find(said.name())) return tell(*field, said.text, recipe);
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
  if (!trainer_of(recipe).max_length) return;
  const std::int64_t most = *trainer_of(recipe).max_length;
  const bool packs = trainer_of(recipe).sft && trainer_of(recipe).sft->packing;
  const bool as_long = packs || !recipe.names_sequence_length;
  recipe.sequence_length = as_long ? most : std::min(recipe.sequence_length, most);
}

Result<void> settle_trl(TrainRecipe& recipe) {
  TrainerRecipe& trainer = trainer_of(recipe);
  if (trainer.dpo && trainer.dpo->loss_types.empty()) trainer.dpo->loss_types = {"sigmoid"};
  if (trainer.sft) return settle_sft(*trainer.sft, recipe);
  if (trainer.cpo) return settle_cpo(*trainer.cpo, recipe.sequence_length);
  if (trainer.grpo) return settle_grpo(*trainer.grpo, recipe);
  return {};
}

}  // namespace memtape::transformers
