// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention (vllm/model_executor/layers/mla.py, attention/mla_attention.py): the
// down projections are whole on every rank, the cache holds one latent vector a token, and the
// profile run makes room for the largest context that prefill expands at a time.
#pragma once

#include "framework/vllm/layers/attention.h"

namespace memtape::vllm {

struct MlaShape {
  explicit MlaShape(const Config& config);
  std::int64_t hidden, heads, q_lora_rank, kv_lora_rank, nope, rope, value;
  std::int64_t qk() const { return nope + rope; }
};

/// deepseek_v2.py renames every scaled rope to its own.
RopeParameters mla_rope(const Config& config);
/// process_weights_after_loading: kv_b_proj taken apart into W_UK and W_UV. They are views of it,
/// or of what it is dequantized to.
void expand_latent_heads(const Place& place, Linear& kv_b_proj, const MlaShape& shape);

class MlaAttention : public nn::Module<MlaAttention> {
 public:
  explicit MlaAttention(const Place& place);
  Tensor forward(const Tensor& hidden_states);

 private:
  std::int64_t prefill_workspace_rows() const;

  Place place_;
  Runtime& runtime_;
  MlaShape shape_;
  std::int64_t heads_;  ///< on this rank
  std::unique_ptr<Linear> a_proj_, q_proj_, kv_b_proj_, o_proj_;
  std::unique_ptr<RMSNorm> q_a_layernorm_, kv_a_layernorm_;
  std::shared_ptr<RotaryEmbedding> rotary_;
};

}  // namespace memtape::vllm
