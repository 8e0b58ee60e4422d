// SPDX-License-Identifier: Apache-2.0
#include "predict/evaluation_bounds.h"

#include <algorithm>

#include "predict/recipe_excess.h"

namespace memtape {
namespace {

/// The logits of a batch, and their copy in float32.
Bytes logits_bytes(const Config& config, const TrainRecipe& recipe, std::int64_t rows) {
  const std::int64_t pair =
      recipe.trl == TrlTrainer::dpo || recipe.trl == TrlTrainer::reward ? 2 : 1;
  const std::int64_t count = pair * rows * recipe.sequence_length * config.integer("vocab_size", 0);
  return 2 * bytes_of(DType::float32, count);
}

}  // namespace

Result<void> widen_by_evaluation(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                                 const DeviceSetup& device) {
  const EvaluationRecipe& evaluation = recipe.evaluation;
  if (!evaluation.left_out) return {};
  TrainRecipe larger = recipe;
  larger.micro_batch_size = evaluation.batch_size;
  larger.gradient_accumulation = 1;
  larger.scored_tokens.reset();
  const bool generates = recipe.trl == TrlTrainer::grpo || recipe.trl == TrlTrainer::rloo;
  const bool is_larger = !generates && larger.micro_batch_size > recipe.micro_batch_size;
  if (is_larger) {
    const Result<Bytes> excess = excess_over(config, recipe, larger, device);
    if (!excess) return tl::unexpected(excess.error());
    bounds.high_bytes += std::max<Bytes>(*excess, 0);
  }
  bounds.high_bytes += logits_bytes(config, recipe, evaluation.batch_size);
  bounds.causes.push_back(
      "the evaluation that is left out takes no more than a training step on its batches, and "
      "their logits");
  return {};
}

}  // namespace memtape
