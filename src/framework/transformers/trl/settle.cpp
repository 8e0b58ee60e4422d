// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trl/settle.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "framework/transformers/trainer_recipe.h"
#include "framework/transformers/trl/earlier_releases.h"
#include "release/trl_changes.h"

namespace memtape::transformers {
namespace {

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

/// __post_init__'s steps_per_generation and generation_batch_size, which is of all processes there
/// and of each of them in the recipe; a prompt's completions may lie on several.
Result<void> settle_batches(GrpoRecipe& grpo, const TrainRecipe& recipe) {
  const std::int64_t batch = recipe.micro_batch_size, ranks = recipe.layout.gpus;
  if (grpo.generation_batch_size && grpo.steps_per_generation)
    return bad_input("generation_batch_size and steps_per_generation exclude each other",
                     "--generation_batch_size", "one of the two");
  if (grpo.generation_batch_size && *grpo.generation_batch_size % (batch * ranks) != 0)
    return bad_input("no multiple of the batch of all devices", "--generation_batch_size",
                     "a multiple of " + std::to_string(batch * ranks));
  if (grpo.generation_batch_size)
    grpo.steps_per_generation = *grpo.generation_batch_size / (batch * ranks);
  else
    grpo.steps_per_generation = grpo.steps_per_generation.value_or(
        recipe.release.has(changes::kTrlGeneratesForTheStep) ? recipe.gradient_accumulation : 1);
  grpo.generation_batch_size = batch * *grpo.steps_per_generation;
  if (grpo.num_generations < 2)
    return bad_input("the completions of a prompt are compared", "--num_generations", "2 or more");
  if (*grpo.generation_batch_size * ranks % grpo.num_generations != 0)
    return bad_input(
        "the completions made at once, " + std::to_string(*grpo.generation_batch_size * ranks) +
            ", are no multiple of those of a prompt",
        "--num_generations", "a divisor of it, or another --per_device_train_batch_size");
  return {};
}

/// vllm_mode. The engine of the same GPU counts as memory of another program.
Result<void> settle_engine(GrpoRecipe& grpo, TrainRecipe& recipe) {
  if (!grpo.use_vllm) return {};
  if (!recipe.release.has(changes::kTrlHasVllmBeside)) grpo.vllm_mode = "server";
  if (grpo.vllm_mode.empty())
    grpo.vllm_mode = recipe.release.has(changes::kTrlPutsVllmBeside) ? "colocate" : "server";
  if (grpo.has_vllm_beside() && grpo.vllm_sleeps)
    return unsupported("an engine that sleeps while the policy learns is not modelled",
                       "--vllm_enable_sleep_mode", "false");
  if (grpo.has_vllm_beside())
    recipe.assumed.push_back(fmt::format(
        "vLLM on the same GPU has a share of {:g} of it (--vllm_gpu_memory_utilization); whether "
        "the model starts in that: memtape -- vllm serve MODEL --gpu-memory-utilization {:g}",
        grpo.vllm_share, grpo.vllm_share));
  else
    recipe.assumed.emplace_back(
        "vLLM makes the completions on other GPUs, which memtape -- vllm serve MODEL answers for");
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
  const std::int64_t most = grpo.max_prompt_length.value_or(kPrompt);
  if (!grpo.prompt_length)
    recipe.assumed.push_back("prompts are taken to be " + std::to_string(most) +
                             " tokens long: --prompt_length says how long they are");
  grpo.prompt_length = grpo.prompt_length.value_or(most);
  if (grpo.max_prompt_length) grpo.prompt_length = std::min(*grpo.prompt_length, most);
  recipe.sequence_length = *grpo.prompt_length + completion;
  if (const auto fine = settle_engine(grpo, recipe); !fine) return fine;
  return settle_batches(grpo, recipe);
}

}  // namespace

double engine_share(const TrainRecipe& recipe) {
  const auto& grpo = trainer_of(recipe).grpo;
  return grpo && grpo->has_vllm_beside() ? grpo->vllm_share : 0;
}

Result<void> settle_trl(TrainRecipe& recipe) {
  TrainerRecipe& trainer = trainer_of(recipe);
  if (const Result<void> fine = trl::settle_release(recipe); !fine) return fine;
  if (trainer.dpo && trainer.dpo->loss_types.empty()) trainer.dpo->loss_types = {"sigmoid"};
  if (trainer.sft) return settle_sft(*trainer.sft, recipe);
  if (trainer.cpo) return settle_cpo(*trainer.cpo, recipe.sequence_length);
  if (trainer.grpo) return settle_grpo(*trainer.grpo, recipe);
  return {};
}

}  // namespace memtape::transformers
