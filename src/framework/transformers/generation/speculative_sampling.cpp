// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/generation/speculative_sampling.h"

#include "framework/transformers/generation/score_changes.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/reductions.h"

namespace memtape::transformers {

using ghost::Tensor;

namespace {

/// probabilities[:, torch.arange(candidates), tokens]: the count comes from the host.
Tensor of_candidates(const Tensor& probabilities, std::int64_t candidates) {
  const ghost::Op op("index", {});
  const Tensor places = ghost::empty({candidates}, DType::int64);
  return ghost::empty({1, 1, candidates}, probabilities.dtype()).squeeze(0).squeeze(0);
}

}  // namespace

Tensor speculative_sampling(const Candidates& candidates, const Tensor& new_logits,
                            std::int64_t matches) {
  const std::int64_t proposed = candidates.logits.size(1), length = candidates.input_ids.size(1);
  const Tensor new_ids = candidates.input_ids.slice(1, length - proposed, length);
  const Tensor q = ghost::softmax(candidates.logits, DType::float32);
  const Tensor q_i = of_candidates(q, proposed);
  const Tensor p = ghost::softmax(new_logits, DType::float32);
  const Tensor p_i = of_candidates(p, proposed);
  const Tensor probability_ratio = p_i.div(q_i);
  const Tensor r_i = ghost::empty_like(probability_ratio, DType::float32);
  const Tensor is_accepted = ghost::le(r_i, probability_ratio);
  {
    const Tensor counted = ghost::cumsum(ghost::bitwise_not(is_accepted));
    const Tensor are_first = ghost::lt(counted, 1);
  }
  const Tensor n_matches = ghost::full({}, DType::int64);
  if (matches < proposed) return new_ids.slice(1, 0, matches + 1);
  const Tensor t = draw_one(p.select(1, matches)).unsqueeze(0);
  return ghost::cat({new_ids, t}, -1);
}

}  // namespace memtape::transformers
