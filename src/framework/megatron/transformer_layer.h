// SPDX-License-Identifier: Apache-2.0
// TransformerLayer (megatron/core/transformer/transformer_layer.py): attention, and an MLP or
// experts. Each comes after a norm and is followed by bias-dropout-add onto the residual stream.
#pragma once

#include <memory>
#include <optional>

#include "framework/megatron/attention.h"
#include "framework/megatron/moe_layer.h"

namespace memtape::megatron {

/// What the layers of one micro-batch share.
struct LayerInputs {
  AttentionMask mask{};
  Tensor rotary_freqs{};
  Tensor context{};  ///< the encoder's output, for cross-attention
  AttentionMask context_mask{};
};

struct LayerKind {
  bool experts = false, crosses = false;
};

class Mlp {
 public:
  Mlp(const nn::Scope& scope, Rank& rank);
  Tensor operator()(const Tensor& x);
  const Tensor& bias() const { return fc2_.bias; }

 private:
  Rank& rank_;
  Linear fc1_, fc2_;
};

class TransformerLayer {
 public:
  TransformerLayer(const nn::Scope& scope, Rank& rank, const LayerKind& kind);
  Tensor operator()(const Tensor& hidden_states, const LayerInputs& inputs);

 private:
  Tensor crossed(const Tensor& hidden_states, const LayerInputs& inputs);
  Tensor mlp_output(const Tensor& x);
  Tensor normalized(std::optional<Norm>& norm, const Tensor& x, CheckpointWithoutOutput& recomputed,
                    const OffloadedModule& offloaded) const;

  Rank& rank_;
  ScopeId scope_;
  std::optional<Norm> input_norm_, cross_norm_, mlp_norm_;
  Attention attention_;
  std::optional<Attention> cross_attention_;
  std::optional<Mlp> mlp_;
  std::optional<MoeLayer> moe_;
};

}  // namespace memtape::megatron
