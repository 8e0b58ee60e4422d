// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention (vllm/model_executor/layers/mla.py, attention/mla_attention.py). The
// down projections are whole on every rank, and the cache holds one latent vector for each token.
// The profile run reserves room for the largest context that prefill expands at a time. Releases
// before 0.7.1 cache keys and values of all heads.
#pragma once

#include "framework/vllm/layers/attention.h"

namespace memtape::vllm {

struct MlaShape {
  explicit MlaShape(const Config& config);
  std::int64_t hidden, heads, q_lora_rank, kv_lora_rank, nope, rope, value;
  std::int64_t qk() const { return nope + rope; }
};

/// deepseek_v2.py renames every scaled rope to its own kind.
RopeParameters mla_rope(const Config& config);
/// process_weights_after_loading: divides kv_b_proj into W_UK and W_UV. These are views of it, or
/// of the weight to which it is dequantized.
void expand_latent_heads(const Place& place, Linear& kv_b_proj, const MlaShape& shape);

class MlaAttention : public nn::Module<MlaAttention> {
 public:
  explicit MlaAttention(const Place& place);
  Tensor forward(const Tensor& hidden_states);

 private:
  /// The head's width in a cache of expanded keys and values (ModelConfig.get_head_size).
  static constexpr std::int64_t kPaddedHead = 256;

  std::int64_t prefill_workspace_rows() const;
  bool caches_latents() const;
  KvLayer cache_layer() const;
  Tensor attend_expanded(const Tensor& kv_c_normed, const Tensor& q);

  Place place_;
  Runtime& runtime_;
  MlaShape shape_;
  std::int64_t heads_;  ///< those on this rank
  std::unique_ptr<Linear> a_proj_, q_proj_, kv_b_proj_, o_proj_;
  std::unique_ptr<RMSNorm> q_a_layernorm_, kv_a_layernorm_;
  std::shared_ptr<RotaryEmbedding> rotary_;
};

}  // namespace memtape::vllm
