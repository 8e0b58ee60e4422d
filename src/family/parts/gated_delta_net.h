// SPDX-License-Identifier: Apache-2.0
// Gated DeltaNet, the linear attention of Qwen3-Next and Qwen3.5, on torch's own ops, as
// transformers runs it where flash-linear-attention and causal-conv1d are not installed. Mirrors
// transformers 5.17 models/qwen3_next/modeling_qwen3_next.py and
// models/qwen3_5/modeling_qwen3_5.py.
#pragma once

#include <optional>

#include "family/pretrained.h"
#include "nn/activations.h"
#include "nn/convolution.h"
#include "nn/layers.h"

namespace memtape::family {

/// How many heads a configuration class has where a file is silent.
struct DeltaNetHeads {
  std::int64_t keys = 16, values = 32;
};

struct GatedDeltaNetConfig {
  /// Reads the keys linear_*.
  GatedDeltaNetConfig(const Config& c, std::int64_t hidden, const nn::Activation& act,
                      const DeltaNetHeads& heads = {});

  std::int64_t hidden_size, num_k_heads, num_v_heads, head_k_dim, head_v_dim, conv_kernel_size;
  nn::Activation activation;
  bool joint_projections = false;  ///< q, k, v and z in one, b and a in one (Qwen3-Next)
  bool weighs_in_float32 = false;  ///< the gated norm's weight before the cast back (Lara Mini)

  std::int64_t key_dim() const { return num_k_heads * head_k_dim; }
  std::int64_t value_dim() const { return num_v_heads * head_v_dim; }
  std::int64_t conv_dim() const { return 2 * key_dim() + value_dim(); }
  std::int64_t heads_per_key() const { return num_v_heads / num_k_heads; }
};

/// Qwen3NextRMSNormGated: the norm before the gate; Glm5NextTextRMSNormGated, which weighs in
/// float32.
class NormThenGate : public nn::Module<NormThenGate> {
 public:
  NormThenGate(const nn::Scope& scope, std::int64_t size, bool weighs_in_float32 = false);
  Tensor forward(const Tensor& x, const Tensor& gate);

 private:
  bool weighs_in_float32_;
  Tensor weight_;
};

class GatedDeltaNet : public nn::Module<GatedDeltaNet> {
 public:
  GatedDeltaNet(const nn::Scope& scope, const GatedDeltaNetConfig& c);
  Tensor forward(const Tensor& x);
  void init_weights() const;

 private:
  /// What the projections return, and what the caller's frame keeps alive of it.
  struct Projected {
    Tensor states_qkvz, states_ba, query, key, value, mixed_qkv, z, b, a;
  };
  Projected project(const Tensor& x);
  Projected project_jointly(const Tensor& x);

  GatedDeltaNetConfig config_;
  nn::Convolution conv1d_;
  std::optional<nn::Linear> in_proj_qkvz_, in_proj_ba_;
  Tensor dt_bias_, uniform_, a_log_;
  NormThenGate norm_;
  nn::Linear out_proj_;
  std::optional<nn::Linear> in_proj_qkv_, in_proj_z_, in_proj_b_, in_proj_a_;
};

}  // namespace memtape::family
