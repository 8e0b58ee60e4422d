// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/generation/score_changes.h"

#include <algorithm>

#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reduce_kernel.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "ghost/ops/unary.h"

namespace memtape::transformers {
namespace {

using ghost::Tensor;

Tensor penalize_repetition(const Tensor& scores, const Tensor& input_ids) {
  Tensor score = ghost::gather(scores, input_ids);
  {
    const Tensor is_negative = ghost::lt(score, 0), more = score.mul(2.0), less = score.div(2.0);
    score = ghost::where(is_negative, more, less);
  }
  return ghost::scatter_number(scores, input_ids);
}

Tensor keep_top_k(const Tensor& scores, std::int64_t top_k) {
  Tensor indices_to_remove;
  {
    const Tensor values = ghost::topk(scores, std::min(top_k, scores.size(-1))).first;
    indices_to_remove = ghost::lt(scores, values.slice(-1, -1, values.size(-1)));
  }
  return ghost::masked_fill(scores, indices_to_remove, ghost::kLowest);
}

/// The scores sorted, and which of them are beyond a share of the probabilities.
Tensor keep_top_p(const Tensor& scores) {
  const auto [sorted_logits, sorted_indices] = ghost::sort(scores);
  const Tensor cumulative_probs = ghost::cumsum(ghost::softmax(sorted_logits, DType::float32));
  const Tensor sorted_indices_to_remove = ghost::le(cumulative_probs, ghost::kLimit);
  const Tensor indices_to_remove = ghost::scatter_number(sorted_indices_to_remove, sorted_indices);
  return ghost::masked_fill(scores, indices_to_remove, ghost::kLowest);
}

Tensor keep_min_p(const Tensor& scores) {
  const Tensor probs = ghost::softmax(scores, DType::float32);
  const ghost::Dims one_each = probs.sizes().leading().with(1);
  const Tensor top_probs = ghost::empty(one_each, DType::float32);
  const Tensor scaled_min_p = top_probs.mul(0.5);
  const Tensor tokens_to_remove = ghost::lt(probs, scaled_min_p);
  const Tensor sorted_indices = ghost::topk(probs, 1).second;
  return ghost::masked_fill(scores, tokens_to_remove, ghost::kLowest);
}

/// mask.sum(dim=1)
Tensor count_true(const Tensor& mask) {
  const ghost::Op op("sum", {});
  Tensor counts = ghost::empty(mask.sizes().leading(), DType::int64);
  ghost::reduce_scratch(mask, ghost::dim_set(1), DType::int64);
  return counts;
}

Tensor keep_typical(const Tensor& scores) {
  const Tensor normalized = ghost::log_softmax(scores, DType::float32);
  const Tensor p = ghost::exp(normalized);
  const Tensor ent = normalized.neg().mul(p).sum(1, true);
  const Tensor shifted_scores = ghost::abs(normalized.neg().sub(ent));
  const auto [sorted_scores, sorted_indices] = ghost::sort(shifted_scores);
  const Tensor sorted_logits = ghost::gather(scores, sorted_indices);
  const Tensor cumulative_probs = ghost::cumsum(ghost::softmax(sorted_logits, DType::float32));
  const Tensor last_ind = count_true(ghost::lt(cumulative_probs, ghost::kLimit));
  const Tensor sorted_indices_to_remove = ghost::gt(sorted_scores, ghost::kLimit);
  const Tensor indices_to_remove = ghost::scatter_number(sorted_indices_to_remove, sorted_indices);
  return ghost::masked_fill(scores, indices_to_remove, ghost::kLowest);
}

/// (probs.max() < inf) & (probs.min() >= 0)
Tensor numbers_are_valid(const Tensor& probs) {
  const Tensor least = ghost::max_all(probs), not_below = ghost::ge(least, 0);
  const Tensor most = ghost::max_all(probs), below = ghost::lt(most, ghost::kInfinity);
  return ghost::bitwise_and(below, not_below);
}

}  // namespace

Tensor changed_scores(const GenerateRecipe& recipe, const Tensor& input_ids, const Tensor& scores) {
  const ScoreChanges& changes = recipe.scores;
  Tensor changed = scores;
  if (changes.repetition_penalty) changed = penalize_repetition(changed, input_ids);
  if (!recipe.do_sample) return changed;
  if (changes.temperature) changed = changed.div(2.0);
  if (changes.top_k > 0) changed = keep_top_k(changed, changes.top_k);
  if (changes.top_p) changed = keep_top_p(changed);
  if (changes.min_p) changed = keep_min_p(changed);
  if (changes.typical_p) changed = keep_typical(changed);
  return changed;
}

Tensor draw_one(const Tensor& probs) {
  const ghost::Op op("multinomial", {});
  Tensor result = ghost::ones({probs.size(0)}, DType::int64, Category::input);
  const Tensor is_valid = numbers_are_valid(probs);
  const Tensor has_empty_row = ghost::any(ghost::eq(probs.sum(1), 0));
  const Tensor exponential = ghost::empty_like(probs, DType::float32);
  ghost::argmax(exponential);
  return result;
}

}  // namespace memtape::transformers
