// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention (models/deepseek_v3/model/model.py of torchtitan 0.2.0).
#pragma once

#include <optional>

#include "framework/torchtitan/norm.h"
#include "model/config.h"
#include "nn/layers.h"

namespace memtape::torchtitan {

struct LatentArgs {
  std::int64_t dim, n_heads, kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim;
  std::int64_t q_lora_rank = 0;  ///< 0: one product makes the queries
  NormKind norm = NormKind::fused;
  bool uses_flex = false;  ///< flex_attention in the place of sdpa

  std::int64_t qk_head_dim() const { return qk_nope_head_dim + qk_rope_head_dim; }
};

/// The arguments for deepseek_v2 and deepseek_v3.
LatentArgs read_latent_args(const Config& config);

class LatentAttention : public nn::Module<LatentAttention> {
 public:
  LatentAttention(const nn::Scope& scope, const LatentArgs& args);
  Tensor forward(const Tensor& x, const Tensor& freqs_cis);
  /// Several GPUs divide the heads (apply_non_moe_tp). Each has all the products of low rank.
  void share_heads() { shares_heads_ = true; }

 private:
  Tensor queries(const Tensor& x);
  Tensor normed(Norm& norm, const Tensor& x) const;
  Tensor keys(const Tensor& k_nope, const Tensor& k_pe) const;

  LatentArgs args_;
  bool shares_heads_ = false;
  std::optional<nn::Linear> wq_, wq_a_;
  std::optional<Norm> q_norm_;
  std::optional<nn::Linear> wq_b_;
  nn::Linear wkv_a_;
  Norm kv_norm_;
  nn::Linear wkv_b_, wo_;
};

}  // namespace memtape::torchtitan
