// SPDX-License-Identifier: Apache-2.0
// Qwen's families of experts: which layers have experts, and the MLP of the others
// (Qwen2MoeDecoderLayer of transformers 5.17 models/qwen2_moe/modular_qwen2_moe.py).
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "family/parts/llama_layer.h"
#include "family/parts/moe_decoder.h"
#include "ghost/ops/pointwise.h"
#include "release/transformers_5_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {

struct QwenMoeConfig : MoeConfig {
  QwenMoeConfig(const Config& c, const ModelOptions& options, const DecoderDefaults& defaults,
                const MoeDefaults& moe)
      : MoeConfig(c, options, defaults, moe),
        decoder_sparse_step(c.dimension("decoder_sparse_step", 1)),
        mlp_only_layers(c.integers("mlp_only_layers")) {
    loop = LoopBefore5::hit;
  }

  std::int64_t decoder_sparse_step;
  std::vector<std::int64_t> mlp_only_layers;

  bool has_experts(std::int64_t layer) const {
    const bool only_mlp =
        std::find(mlp_only_layers.begin(), mlp_only_layers.end(), layer) != mlp_only_layers.end();
    return !only_mlp && (layer + 1) % decoder_sparse_step == 0;
  }
};

/// The settings of an MLP, with another intermediate size.
template <class Settings>
DecoderConfig with_intermediate_size(const Settings& c, std::int64_t size) {
  DecoderConfig other = c;
  other.intermediate_size = size;
  return other;
}

/// Routed experts, and a shared one for all tokens behind a gate of its own.
class SharedExpertMoeBlock : public nn::Module<SharedExpertMoeBlock> {
 public:
  template <class Settings>
  SharedExpertMoeBlock(const nn::Scope& scope, const Settings& c)
      : Module(scope),
        gate_(scope / "gate", c, TopKRouter::Style::qwen2),
        experts_(scope / "experts", c),
        shared_expert_(scope / "shared_expert",
                       with_intermediate_size(c, c.shared_expert_intermediate_size)),
        shared_expert_gate_(scope / "shared_expert_gate", c.hidden_size, 1, false) {}

  Tensor forward(const Tensor& x) {
    const Tensor hidden_states_reshaped = x.view({-1, x.size(-1)});
    if (!ghost::has(changes::kExpertsAreStacked)) return shared_last(hidden_states_reshaped, x);
    Tensor shared_expert_output = shared_expert_(hidden_states_reshaped);
    const Routing routing = gate_(hidden_states_reshaped);
    Tensor expert_output = experts_(hidden_states_reshaped, routing.indices, routing.weights);
    shared_expert_output =
        ghost::sigmoid(shared_expert_gate_(hidden_states_reshaped)).mul(shared_expert_output);
    if (ghost::has(changes::kSharedExpertIsAdded))
      expert_output = expert_output.add(shared_expert_output);
    else
      ghost::add_(expert_output, shared_expert_output);
    return expert_output.reshape(x.sizes());
  }

 private:
  /// The order of transformers 4.
  Tensor shared_last(const Tensor& hidden_states, const Tensor& x) {
    const Routing routing = gate_(hidden_states);
    Tensor final_hidden_states = experts_(hidden_states, routing.indices, routing.weights);
    Tensor shared_expert_output = shared_expert_(hidden_states);
    shared_expert_output =
        ghost::sigmoid(shared_expert_gate_(hidden_states)).mul(shared_expert_output);
    final_hidden_states = final_hidden_states.add(shared_expert_output);
    return final_hidden_states.reshape(x.sizes());
  }

  TopKRouter gate_;
  Experts experts_;
  LlamaMLP shared_expert_;
  nn::Linear shared_expert_gate_;
};

/// FlintSparseMoeBlock: a shared expert without a gate, whose settings say how wide it is. The
/// family's router is made with (scope, settings).
template <class Router>
class UngatedSharedExpertMoeBlock : public nn::Module<UngatedSharedExpertMoeBlock<Router>> {
 public:
  template <class Settings>
  UngatedSharedExpertMoeBlock(const nn::Scope& scope, const Settings& c)
      : nn::Module<UngatedSharedExpertMoeBlock>(scope),
        experts_(scope / "experts", c),
        gate_(scope / "gate", c),
        shared_expert_(scope / "shared_expert",
                       with_intermediate_size(c, c.shared_expert_intermediate_size)) {}

  Tensor forward(const Tensor& x) {
    const Tensor hidden_states = x.view({-1, x.size(-1)});
    const Routing routing = gate_(hidden_states);
    Tensor final_hidden_states = experts_(hidden_states, routing.indices, routing.weights);
    final_hidden_states = final_hidden_states.add(shared_expert_(hidden_states));
    return final_hidden_states.reshape(x.sizes());
  }

 private:
  Experts experts_;
  Router gate_;
  LlamaMLP shared_expert_;
};

/// `self.mlp`: a block of experts or, in some layers, an MLP.
template <class SparseMoeBlock, class Dense = LlamaMLP>
class MaybeSparseMlp {
 public:
  template <class Settings>
  MaybeSparseMlp(const nn::Scope& scope, const Settings& c, std::int64_t layer) {
    if (c.has_experts(layer))
      sparse_.emplace(scope, c);
    else
      dense_.emplace(scope, c);
  }
  Tensor operator()(const In& x) { return sparse_ ? (*sparse_)(x) : (*dense_)(x); }

 private:
  std::optional<SparseMoeBlock> sparse_;
  std::optional<Dense> dense_;
};

}  // namespace memtape::family
