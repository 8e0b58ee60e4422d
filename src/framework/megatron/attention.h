// SPDX-License-Identifier: Apache-2.0
// Self-attention of one rank (megatron/core/transformer/attention.py, multi_latent_attention.py): a
// column-parallel product for q, k and v, the core, and a row-parallel product back. The core is
// Megatron's own DotProductAttention or one of Transformer Engine's three backends.
#pragma once

#include <optional>

#include "framework/megatron/linear.h"

namespace memtape::megatron {

class CheckpointWithoutOutput;

/// What a query may see. For Transformer Engine, a padding mask is [b, 1, 1, s], and other masks
/// follow from its causal kernels; for the local spec the mask is a whole tensor.
struct AttentionMask {
  Tensor tensor{};
  bool padding = false;
};

class Attention {
 public:
  /// If `crosses` is set, keys and values come from another sequence.
  Attention(const nn::Scope& scope, Rank& rank, bool crosses);
  struct Inputs {
    AttentionMask mask;
    Tensor freqs;    ///< undefined without rotary embeddings
    Tensor context;  ///< from what keys and values are made, if not from x
  };
  /// The output without its bias.
  Tensor operator()(const Tensor& x, const Inputs& inputs);
  const Tensor& bias() const { return proj_->bias; }

 private:
  struct Heads {
    Tensor query, key, value;
    std::vector<Tensor> before_rotation = {};
  };
  void build_latent(const nn::Scope& scope);
  Heads projected(const Tensor& x, const Inputs& inputs, CheckpointWithoutOutput& recomputed);
  Heads from_one_product(const Tensor& x, const Tensor& freqs);
  /// `recomputed` is the checkpoint of the up products, whose outputs may be freed once the core
  /// has run.
  Heads from_latents(const Tensor& x, const Tensor& freqs, CheckpointWithoutOutput& recomputed);
  std::vector<Tensor> up_projected(std::span<const Tensor> latents, const Tensor& freqs);

  Rank& rank_;
  ScopeId scope_;
  Heads from_two_products(const Tensor& x, const Tensor& context);
  std::optional<Linear> qkv_, q_, kv_, q_down_, q_up_, kv_down_, kv_up_, proj_;
  std::optional<Norm> q_norm_, k_norm_;
  Tensor sinks_;  ///< softmax_offset: a score of each head that no value belongs to
};

/// softmax(q k^T) v of [s, b, heads, d] tensors, as [s, b, heads * d]; `sinks` adds a score to each
/// head's.
Tensor core_attention(Rank& rank, const Tensor& query, const Tensor& key, const Tensor& value,
                      const AttentionMask& mask, const Tensor& sinks = {});

}  // namespace memtape::megatron
