// SPDX-License-Identifier: Apache-2.0
// experts_implementation "eager": the forward that each class of experts has itself, a loop over
// the experts that were hit. Each one's sizes are those of its tokens, and each takes its weights
// out of the stack, so that backward makes zeros of the whole stack per expert.
#include <utility>

#include "family/parts/experts.h"
#include "family/parts/experts_loop.h"
#include "ghost/ops/matmul.h"
#include "nn/parametrize.h"

namespace memtape::family {

Tensor Experts::eager_forward(const Tensor& hidden_states, const Tensor& top_k_index,
                              const Tensor& top_k_weights) {
  const LoopStyle style{.result = layout_.has_gate ? hidden_states.dtype() : top_k_weights.dtype(),
                        .asks_each = layout_.has_gate};
  ExpertsLoop loop(hidden_states, {top_k_index, top_k_weights},
                   load_.by_expert({hidden_states.size(0), top_k_index.size(-1), num_experts_}),
                   style);
  // Locals of the Python loop: they live until the next expert's take their names.
  Tensor current_state, gate, up, current, out;
  while (loop.next()) {
    const std::int64_t expert_idx = loop.expert_idx();
    if (layout_.has_bias) {  // GptOssExperts
      current_state = loop.current_state();
      gate = current_state.matmul(nn::value_of(gate_up_.weight).select(0, expert_idx))
                 .add(gate_up_.bias.select(0, expert_idx));
      up = layout_.apply_gate(gate, act_fn_);
      out = up.matmul(nn::value_of(down_.weight).select(0, expert_idx))
                .add(down_.bias.select(0, expert_idx));
      current = out.mul(loop.weights());
    } else if (!layout_.has_gate) {  // NemotronHExperts
      current_state = loop.current_state();
      current =
          ghost::linear(current_state, nn::value_of(gate_up_.weight).select(0, expert_idx), {});
      current = act_fn_(current);
      current = ghost::linear(current, nn::value_of(down_.weight).select(0, expert_idx), {});
      current = current.mul(loop.weights());
    } else if (layout_.apply_gate != ExpertsLayout::default_apply_gate) {  // DeepseekV4Experts
      current =
          layout_.apply_gate(ghost::linear(loop.current_state(),
                                           nn::value_of(gate_up_.weight).select(0, expert_idx), {}),
                             act_fn_);
      current = ghost::linear(current, nn::value_of(down_.weight).select(0, expert_idx), {})
                    .mul(loop.weights());
    } else {  // MixtralExperts
      current_state = loop.current_state();
      std::vector<Tensor> halves =
          ghost::linear(current_state, nn::value_of(gate_up_.weight).select(0, expert_idx), {})
              .chunk(2, -1);
      gate = std::move(halves[0]);
      up = std::move(halves[1]);
      current = act_fn_(gate).mul(up);
      current = ghost::linear(current, nn::value_of(down_.weight).select(0, expert_idx), {});
      current = current.mul(loop.weights());
    }
    loop.add(current);
  }
  return loop.final_hidden_states().to(hidden_states.dtype());
}

}  // namespace memtape::family
