// SPDX-License-Identifier: Apache-2.0
// Qwen3-MoE's block of experts (transformers 5.17 models/qwen3_moe/modular_qwen3_moe.py).
#pragma once

#include "family/parts/qwen2_moe_block.h"

namespace memtape::family {

class Qwen3MoeSparseMoeBlock : public nn::Module<Qwen3MoeSparseMoeBlock> {
 public:
  Qwen3MoeSparseMoeBlock(const nn::Scope& scope, const MoeConfig& c) : Module(scope) {
    const bool gate_comes_first = !ghost::has(changes::kExpertsAreStacked);
    if (gate_comes_first) gate_.emplace(scope / "gate", c, TopKRouter::Style::qwen2);
    experts_.emplace(scope / "experts", c);
    if (!gate_comes_first) gate_.emplace(scope / "gate", c, TopKRouter::Style::qwen2);
  }

  Tensor forward(const Tensor& x) {
    const Tensor hidden_states_reshaped = x.view({-1, x.size(-1)});
    const Routing routing = (*gate_)(hidden_states_reshaped);
    const Tensor final_hidden_states =
        (*experts_)(hidden_states_reshaped, routing.indices, routing.weights);
    return final_hidden_states.reshape(x.sizes());
  }

 private:
  std::optional<Experts> experts_;
  std::optional<TopKRouter> gate_;
};

}  // namespace memtape::family
