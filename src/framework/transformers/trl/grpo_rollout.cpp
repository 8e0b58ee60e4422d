// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trl/grpo_rollout.h"

#include <algorithm>

#include "framework/transformers/generate.h"
#include "framework/transformers/parallel_model.h"
#include "framework/transformers/trainer_recipe.h"
#include "framework/transformers/trl/kept_logits.h"
#include "framework/transformers/trl/logprob_entropy.h"
#include "framework/transformers/trl/switched_off.h"
#include "framework/transformers/trl/whole_logits.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/session.h"
#include "release/trl_changes.h"

namespace memtape::transformers::trl {
namespace {

using ghost::Dims;
using ghost::Tensor;

Tensor tokens(const Dims& sizes) { return ghost::zeros(sizes, DType::int64, Category::input); }

/// v[permutation], whose permutation comes from the CPU each time.
void shuffle(Tensor& v, std::int64_t batch) {
  if (!v.defined()) return;
  const Tensor permutation = ghost::empty({batch}, DType::int64);
  const Tensor shuffled = ghost::index(v, permutation);
  ghost::session().set_category(shuffled, Category::input);
  v = shuffled;
}

/// The policy's head makes entropies whether they are wanted or not.
ScoredTokens of_policy(ScoredTokens what) {
  what.makes_entropy = true;
  return what;
}

ScoredTokens of_reference(ScoredTokens what) {
  what.callee = PreparedModel::Callee::model_wrapped;
  return what;
}

/// Whether the policy of an earlier step may have made the completions of a micro-batch.
bool is_misaligned(const TrainRecipe& recipe) {
  const GrpoRecipe& grpo = *trainer_of(recipe).grpo;
  return recipe.gradient_accumulation % (*grpo.steps_per_generation * grpo.num_iterations) != 0;
}

}  // namespace

TokenScores score_tokens(const PreparedModel& model, const Tensor& input_ids,
                         const Tensor& attention_mask, const ScoredTokens& what) {
  const std::int64_t count = input_ids.size(0), keep = what.logits_to_keep;
  std::vector<Tensor> all_logps, all_entropies;
  family::Batch batch;
  FusedOutput outputs;
  Tensor logits;  // of the chunk before, until the next one has its own
  for (std::int64_t start = 0; start < count; start += what.batch_size) {
    const std::int64_t end = std::min(start + what.batch_size, count);
    batch.input_ids = input_ids.slice(0, start, end);
    batch.attention_mask = attention_mask.slice(0, start, end);
    if (!ghost::has(changes::kTrlFusesHead)) {
      logits = kept_logits(model, batch, keep, what.callee);
      const std::int64_t tokens = batch.input_ids.size(1);
      all_logps.push_back(
          selective_log_softmax(logits, batch.input_ids.slice(1, tokens - keep, tokens)));
      if (what.wants_entropy) all_entropies.push_back(entropy_of_logits(logits));
      continue;
    }
    batch.labels = ghost::masked_fill(batch.input_ids, ghost::eq(batch.attention_mask, 0),
                                      ghost::kIgnoreIndex);
    const FusedCount fused{.scored = what.scored.value_or((end - start) * keep),
                           .outputs = {.entropy = what.wants_entropy || what.makes_entropy}};
    outputs = fused_forward(model, batch, fused, what.callee);
    const std::int64_t length = outputs.log_probs.size(1);
    all_logps.push_back(outputs.log_probs.slice(1, length - keep, length));
    if (what.wants_entropy)
      all_entropies.push_back(outputs.entropy.slice(1, length - keep, length));
  }
  TokenScores scores;
  scores.logps = ghost::cat(all_logps, 0);
  if (what.wants_entropy) scores.entropies = ghost::cat(all_entropies, 0);
  return scores;
}

GrpoRollout::GrpoRollout(const TrainRecipe& recipe, const PreparedModel& model,
                         const PreparedModel* reference)
    : recipe_(recipe), grpo_(*trainer_of(recipe).grpo), model_(model), reference_(reference) {}

ScoredTokens GrpoRollout::scored_tokens() const {
  return {.logits_to_keep = grpo_.max_completion_length,
          .batch_size = recipe_.micro_batch_size,
          .scored = recipe_.scored_tokens,
          .wants_entropy = false};
}

/// _generate_single_turn: what it makes ends with it, as the completions go to the host.
void GrpoRollout::generate() {
  const GenerateRecipe how{.batch_size = *grpo_.generation_batch_size,
                           .prompt_length = *grpo_.prompt_length,
                           .max_new_tokens = grpo_.max_completion_length,
                           .cache = grpo_.cache_implementation == "static"
                                        ? family::CacheKind::fixed
                                        : family::CacheKind::dynamic,
                           .prefill_chunk_size = {},
                           .scores = {.repetition_penalty = grpo_.penalizes_repetition,
                                      .temperature = grpo_.temperature != 1.0,
                                      .top_k = grpo_.top_k,
                                      .top_p = grpo_.top_p != 1.0,
                                      .min_p = grpo_.has_min_p},
                           .do_sample = true,
                           .prompt_lookup_num_tokens = {},
                           .looks_for_eos = true};
  const WithoutCheckpointing plain(model_.model());
  const std::shared_ptr<void> unwrapped = model_.unwrapped_to_generate();
  Tensor sequences;
  const auto run = [&]() -> torch::DrivenModel::Outputs {
    sequences = transformers::generate(model_.model(), how, [this](const family::Batch& batch) {
      // accelerate's autocast is around the outer model: PeftModel.generate() calls the one within
      if (recipe_.lora) return model_.model().forward(batch).logits;
      return (model_.is_unwrapped_to_generate() ? model_.unwrapped(batch) : model_(batch)).logits;
    });
    return {&sequences};
  };
  // register_fsdp_forward_method(model, "generate"): FSDP2's root is entered around it
  if (parallelism_of(recipe_) == Parallelism::fsdp2)
    model_.call(run, PreparedModel::Callee::model_wrapped);
  else
    run();
  const Dims sizes{how.batch_size, how.max_new_tokens};
  const Tensor is_eos = ghost::full(sizes, DType::boolean);
  const Tensor eos_idx = tokens({how.batch_size});
  const Tensor sequence_indices = ghost::arange(how.max_new_tokens, DType::int64);
  const Tensor completion_mask = ghost::empty(sizes, DType::int32);
}

/// The reference is a model of its own, or the policy with its adapters off.
Tensor GrpoRollout::reference_logps(const Tensor& input_ids, const Tensor& attention_mask) const {
  if (reference_)
    return score_tokens(*reference_, input_ids, attention_mask, of_reference(scored_tokens()))
        .logps;
  const WithoutAdapters base(model_.model());
  return score_tokens(model_, input_ids, attention_mask, of_policy(scored_tokens())).logps;
}

std::vector<Completions> GrpoRollout::generate_and_score() {
  const ghost::GradMode no_grad(false);
  if (!grpo_.use_vllm) generate();
  const std::int64_t count = *grpo_.generation_batch_size;
  const Dims prompts{count, *grpo_.prompt_length}, completed{count, grpo_.max_completion_length};
  Completions all;
  all.prompt_ids = tokens(prompts);
  all.prompt_mask = tokens(prompts);
  all.completion_ids = tokens(completed);
  all.completion_mask = tokens(completed);
  Tensor is_truncated;
  if (grpo_.masks_truncated) {
    is_truncated = ghost::full({count}, DType::boolean);
    const Tensor is_whole = ghost::bitwise_not(is_truncated).unsqueeze(1);
    all.completion_mask = all.completion_mask.mul(is_whole.to(DType::int32));
    ghost::session().set_category(all.completion_mask, Category::input);
  }
  if (!grpo_.leaves_one_out)
    all.num_items_in_batch = ghost::sum_all(ghost::sum_all(all.completion_mask));
  const Tensor input_ids = ghost::cat({all.prompt_ids, all.completion_ids}, 1);
  const Tensor attention_mask = ghost::cat({all.prompt_mask, all.completion_mask}, 1);
  {
    const WithoutCheckpointing plain(model_.model());
    const bool corrects =
        grpo_.use_vllm && grpo_.corrects_sampling && ghost::has(changes::kTrlCorrectsSampling);
    if (grpo_.leaves_one_out || corrects || is_misaligned(recipe_))
      all.old_per_token_logps =
          score_tokens(model_, input_ids, attention_mask, of_policy(scored_tokens())).logps;
    if (grpo_.beta != 0.0) all.ref_per_token_logps = reference_logps(input_ids, attention_mask);
  }
  const Tensor old_per_token_logps = all.old_per_token_logps;
  const Tensor ref_per_token_logps = all.ref_per_token_logps;
  if (grpo_.leaves_one_out) {  // whose KL term is part of the rewards
    all.old_per_token_logps = old_per_token_logps.mul(all.completion_mask).sum(1);
    all.ref_per_token_logps.reset();
  }
  const Tensor rewards_per_func = ghost::zeros({count, 1}, DType::float32);
  all.advantages = ghost::zeros({count}, DType::float32);
  return shuffled_and_split(std::move(all));
}

std::vector<Completions> GrpoRollout::shuffled_and_split(Completions all) const {
  const std::int64_t batch = recipe_.micro_batch_size;
  std::vector<Tensor Completions::*> rows{
      &Completions::prompt_ids,         &Completions::prompt_mask,
      &Completions::completion_ids,     &Completions::completion_mask,
      &Completions::advantages,         &Completions::old_per_token_logps,
      &Completions::ref_per_token_logps};
  Completions shuffled = all;  // the dictionary before it lives until the one behind it is whole
  for (Tensor Completions::* row : rows) shuffle(shuffled.*row, *grpo_.generation_batch_size);
  std::vector<Completions> parts;
  for (std::int64_t i = 0; i < *grpo_.steps_per_generation; ++i) {
    Completions part = shuffled;
    for (Tensor Completions::* row : rows)
      if ((part.*row).defined()) part.*row = (shuffled.*row).slice(0, i * batch, (i + 1) * batch);
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace memtape::transformers::trl
