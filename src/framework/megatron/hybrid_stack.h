// SPDX-License-Identifier: Apache-2.0
// HybridStack (megatron/core/models/hybrid/hybrid_block.py): a stack in which each letter of
// --hybrid-layer-pattern says what a layer is: M Mamba, * attention, - MLP, E experts. Each layer
// is followed by bias-dropout-add onto the residual stream.
#pragma once

#include <deque>

#include "framework/megatron/mamba_mixer.h"
#include "framework/megatron/transformer_layer.h"

namespace memtape::megatron {

class HybridLayer {
 public:
  HybridLayer(const nn::Scope& scope, Rank& rank, char letter);
  Tensor operator()(const Tensor& x, const LayerInputs& inputs);

 private:
  Rank& rank_;
  ScopeId scope_;
  std::optional<MambaMixer> mamba_;
  std::optional<Attention> attention_;
  std::optional<Mlp> mlp_;
  std::optional<Norm> norm_;
  std::optional<MoeLayer> moe_;
};

class HybridStack {
 public:
  /// The layers [first, first + letters.size()) of the model.
  HybridStack(const nn::Scope& scope, Rank& rank, std::string_view letters, bool final_norm);
  Tensor operator()(Tensor hidden_states, const LayerInputs& inputs);

 private:
  std::deque<HybridLayer> layers_;
  std::optional<Norm> final_norm_;
};

}  // namespace memtape::megatron
