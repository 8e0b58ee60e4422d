// SPDX-License-Identifier: Apache-2.0
#include "family/parts/looped_experts.h"

#include <utility>

#include "family/parts/experts_loop.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/put_rows.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "ghost/ops/unary.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {

LoopedExperts::LoopedExperts(const nn::Scope& scope, std::int64_t experts,
                             const DecoderConfig& expert, LoopBefore5 loop)
    : loop_(loop), experts_(scope, experts, expert) {}

Tensor LoopedExperts::operator()(const Tensor& hidden_states, const Tensor& top_k_index,
                                 const Tensor& top_k_weights,
                                 std::vector<std::int64_t> tokens_by_expert) {
  if (loop_ == LoopBefore5::in_slices)
    return run_slices(hidden_states, top_k_index, top_k_weights, tokens_by_expert);
  const bool by_token = loop_ == LoopBefore5::by_token;
  const bool over_hit = loop_ == LoopBefore5::hit && ghost::has(changes::kLoopsOverHitExperts);
  ExpertsLoop loop(hidden_states, {top_k_index, top_k_weights}, std::move(tokens_by_expert),
                   {.result = by_token ? top_k_weights.dtype() : hidden_states.dtype(),
                    .asks_each = false,
                    .finds_hit = over_hit,
                    .copies_mask = over_hit});
  // Locals of the Python loop: they live until the next expert's take their names.
  Tensor expert_weights, current_state, expert_output, current;
  while (loop.next()) {
    LlamaMLP& expert = experts_[static_cast<std::size_t>(loop.expert_idx())];
    if (by_token) {
      expert_weights = loop.weights();
      current_state = loop.current_state();
      expert_output = expert(current_state);
      current = expert_output.mul(expert_weights);
    } else {
      current_state = loop.current_state();
      current = expert(current_state).mul(loop.weights());
    }
    loop.add(current);
  }
  return loop.final_hidden_states().to(hidden_states.dtype());
}

/// DeepseekV2MoE.moe. What is weighted in float32 is weighted in place, in a float32 model in a
/// view of `new_x`, which is taken for a tensor of its own here.
Tensor LoopedExperts::run_slices(const Tensor& hidden_states, const Tensor& topk_ids,
                                 const Tensor& topk_weight,
                                 const std::vector<std::int64_t>& tokens_by_expert) {
  const auto experts = static_cast<std::int64_t>(experts_.size());
  const Tensor cnts = ghost::zeros({topk_ids.size(0), experts}, DType::int64);
  const Tensor tokens_per_expert = cnts.sum(0);
  const Tensor indicies = ghost::sort(topk_ids.view({-1})).second;
  const Tensor sorted_tokens =
      ghost::index(hidden_states, ghost::floor_divide(indicies, topk_ids.size(1)));
  std::vector<Tensor> outputs;
  Tensor start_idx, end_idx, tokens_for_this_expert, expert_out;
  std::int64_t start = 0;
  for (std::int64_t i = 0; i < experts; ++i) {
    const std::int64_t count = tokens_by_expert[static_cast<std::size_t>(i)];
    const Tensor num_tokens = tokens_per_expert.select(0, i);
    ghost::eq(num_tokens, 0);
    if (count == 0) continue;
    end_idx = num_tokens.add(0);
    tokens_for_this_expert = sorted_tokens.slice(0, start, start + count);
    expert_out = experts_[static_cast<std::size_t>(i)](tokens_for_this_expert);
    outputs.push_back(expert_out);
    start_idx = end_idx;
    start += count;
  }
  const Tensor outs = ghost::cat(outputs, 0);
  const Tensor new_x = ghost::empty_like(outs, outs.dtype());
  ghost::put_rows_(new_x, indicies, outs);
  Tensor weighted = new_x.view({topk_ids.size(0), topk_ids.size(1), -1}).to(topk_weight.dtype());
  ghost::mul_(weighted, topk_weight.unsqueeze(-1));
  return std::move(weighted).sum(1).to(new_x.dtype());
}

}  // namespace memtape::family
