// SPDX-License-Identifier: Apache-2.0
#include "family/parts/expert_modules.h"

#include <utility>

#include "family/parts/experts_loop.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {

ExpertModule::ExpertModule(const nn::Scope& scope, const MoeConfig& c)
    : Module(scope),
      w1_(scope / "w1", c.hidden_size, c.moe_intermediate_size, false),
      w2_(scope / "w2", c.moe_intermediate_size, c.hidden_size, false),
      w3_(scope / "w3", c.hidden_size, c.moe_intermediate_size, false),
      act_fn_(c.hidden_act) {}

Tensor ExpertModule::forward(const Tensor& hidden_states) {
  Tensor current_hidden_states = act_fn_(w1_(hidden_states)).mul(w3_(hidden_states));
  current_hidden_states = w2_(current_hidden_states);
  return current_hidden_states;
}

ExpertModules::ExpertModules(const nn::Scope& scope, const MoeConfig& c)
    : Module(scope),
      top_k_(c.num_experts_per_tok),
      load_(c.expert_load),
      gate_(scope / "gate", c.hidden_size, c.num_experts, false),
      experts_(scope / "experts", c.num_experts, c) {}

Tensor ExpertModules::forward(const Tensor& hidden_states) {
  Tensor router_logits = gate_(hidden_states);
  RouterLogits::record(router_logits);
  const Tensor probabilities = ghost::softmax(router_logits, DType::float32);
  auto [weights, selected_experts] = ghost::topk(probabilities, top_k_);
  ghost::div_(weights, weights.sum(-1, true));
  weights = weights.to(hidden_states.dtype());
  const Routing routing{std::move(router_logits), std::move(weights), std::move(selected_experts)};
  return run_experts(hidden_states, routing);
}

Tensor ExpertModules::run_experts(const Tensor& hidden_states, const Routing& routing) {
  const auto experts = static_cast<std::int64_t>(experts_.size());
  const bool over_hit = ghost::has(changes::kLoopsOverHitExperts);
  ExpertsLoop loop(hidden_states, {routing.indices, routing.weights},
                   load_.by_expert({hidden_states.size(0), top_k_, experts}),
                   {.result = hidden_states.dtype(),
                    .asks_each = false,
                    .finds_hit = over_hit,
                    .copies_mask = over_hit});
  // Locals of the Python loop: they live until the next expert's take their names.
  Tensor current_state, current_hidden_states;
  for (ExpertModule& expert : experts_) {
    if (!loop.next()) break;  // an expert without tokens makes nothing but empty tensors
    current_state = loop.current_state();
    current_hidden_states = expert(current_state).mul(loop.weights());
    loop.add(current_hidden_states);
  }
  return loop.final_hidden_states();
}

}  // namespace memtape::family
