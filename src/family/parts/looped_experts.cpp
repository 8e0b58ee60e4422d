// SPDX-License-Identifier: Apache-2.0
#include "family/parts/looped_experts.h"

#include <utility>

#include "family/parts/experts_loop.h"
#include "ghost/ops/pointwise.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {

LoopedExperts::LoopedExperts(const nn::Scope& scope, std::int64_t experts,
                             const DecoderConfig& expert, LoopBefore5 loop)
    : loop_(loop), experts_(scope, experts, expert) {}

Tensor LoopedExperts::operator()(const Tensor& hidden_states, const Tensor& top_k_index,
                                 const Tensor& top_k_weights,
                                 std::vector<std::int64_t> tokens_by_expert) {
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

}  // namespace memtape::family
