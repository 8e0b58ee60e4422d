// SPDX-License-Identifier: Apache-2.0
#include "family/parts/experts_by_index.h"

#include <utility>
#include <vector>

#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/views.h"

namespace memtape::family {

ExpertsByIndex::ExpertsByIndex(const nn::Scope& scope, const MoeConfig& c,
                               const ByIndexStyle& style)
    : Module(scope),
      style_(style),
      num_experts_(c.num_experts),
      hidden_size_(c.hidden_size),
      top_k_(c.num_experts_per_tok),
      load_(c.expert_load),
      act_fn_(c.hidden_act) {
  const std::int64_t width = c.moe_intermediate_size;
  gate_up_proj_ = scope.parameter("gate_up_proj", {num_experts_, hidden_size_, 2 * width});
  if (style.has_bias)
    gate_up_proj_bias_ = scope.parameter("gate_up_proj_bias", {num_experts_, 2 * width});
  down_proj_ = scope.parameter("down_proj", {num_experts_, width, hidden_size_});
  if (style.has_bias)
    down_proj_bias_ = scope.parameter("down_proj_bias", {num_experts_, hidden_size_});
}

Tensor ExpertsByIndex::of_expert(const Tensor& all, const ExpertsLoop& loop) const {
  return style_.selects ? all.select(0, loop.expert_idx()) : ghost::index(all, loop.expert_row());
}

/// routing_weights[token_idx, expert_idx, None]. An index of one number is spread over the tokens.
Tensor ExpertsByIndex::weights_of_tokens(const Tensor& routing_weights,
                                         const ExpertsLoop& loop) const {
  if (style_.selects)
    return ghost::index(routing_weights.select(1, loop.expert_idx()).unsqueeze(1),
                        loop.token_idx());
  const Tensor expert_idx = loop.expert_row().expand({loop.token_idx().numel()});
  const Tensor packed = expert_idx.contiguous();
  return ghost::index_pairs(routing_weights.unsqueeze(-1), loop.token_idx(), expert_idx);
}

Tensor ExpertsByIndex::forward(const Tensor& x, const Tensor& router_indices,
                               const Tensor& routing_weights) {
  const Tensor hidden_states = x.reshape({-1, hidden_size_});
  ExpertsLoop loop(hidden_states, {router_indices, routing_weights},
                   load_.by_expert({hidden_states.size(0), top_k_, num_experts_}),
                   {.result = hidden_states.dtype(),
                    .asks_each = style_.skips_one_more,
                    .counts_one_more = style_.skips_one_more});
  // Locals of the Python loop: they live until the next expert's take their names.
  Tensor current_state, gate_up, gate, up, glu, gated_output, out, weighted_output;
  while (loop.next()) {
    current_state = loop.current_state();
    gate_up = current_state.matmul(of_expert(gate_up_proj_, loop));
    if (style_.has_bias) {
      gate_up = std::move(gate_up).add(of_expert(gate_up_proj_bias_, loop));
      gate = ghost::strided_slice(gate_up, -1, 0, 2);
      up = ghost::strided_slice(gate_up, -1, 1, 2);
      gate = ghost::clamp(gate, {.max = ghost::kLimit});
      up = ghost::clamp(up, {.min = -ghost::kLimit, .max = ghost::kLimit});
      glu = gate.mul(ghost::sigmoid(gate.mul(1.702)));
      gated_output = up.add(1).mul(glu);
      out = gated_output.matmul(of_expert(down_proj_, loop)).add(of_expert(down_proj_bias_, loop));
    } else {
      std::vector<Tensor> halves = gate_up.chunk(2, -1);
      gate = std::move(halves[0]);
      up = std::move(halves[1]);
      gated_output = up.mul(act_fn_(gate));
      out = gated_output.matmul(of_expert(down_proj_, loop));
    }
    const Tensor of_tokens = style_.selects ? out : out.select(0, 0);
    weighted_output = of_tokens.mul(weights_of_tokens(routing_weights, loop));
    loop.add(weighted_output);
  }
  return loop.final_hidden_states().view({x.size(0), -1, hidden_size_});
}

Tensor spread_over_experts(const Tensor& router_logits, const Tensor& router_indices,
                           const Tensor& weights) {
  Tensor spread = ghost::zeros_like(router_logits);
  ghost::scatter_(spread, router_indices, weights);
  return spread;
}

}  // namespace memtape::family
