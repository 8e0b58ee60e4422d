// SPDX-License-Identifier: Apache-2.0
// What DeepSeek's V2 and V3 share: multi-head latent attention, whose keys and values are expanded
// from one narrow latent per token, and blocks of experts beside experts that all tokens share;
// mirroring transformers 5.17 models/deepseek_v2/modeling_deepseek_v2.py and
// models/deepseek_v3/modeling_deepseek_v3.py.
#pragma once

#include <optional>
#include <utility>

#include "family/experts.h"
#include "family/llama.h"
#include "family/qwen2_moe.h"

namespace memtape::family {

struct DeepseekConfig : MoeConfig {
  DeepseekConfig(const Config& c, const ModelOptions& options, const DecoderDefaults& defaults,
                 const MoeDefaults& moe);

  std::int64_t kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim, first_k_dense_replace;
  std::optional<std::int64_t> q_lora_rank;
  std::int64_t n_shared_experts = 1;
  std::int64_t n_group = 1,
               topk_group = 1;  ///< experts come in groups, of which a token sees the best
  bool limits_groups = false;
  bool rope_interleave = true;

  std::int64_t qk_head_dim() const { return qk_nope_head_dim + qk_rope_head_dim; }
  bool has_experts(std::int64_t layer) const { return layer >= first_k_dense_replace; }
  /// Reads n_group and topk_group.
  void read_groups(const Config& c, std::int64_t default_groups, std::int64_t default_topk_group);
};

/// How a family turns q [B, H, S, D] and the one k [B, 1, S, D].
using LatentRotation = std::pair<Tensor, Tensor> (*)(const Tensor& q, const Tensor& k,
                                                     const CosSin& position_embeddings);

/// q_proj, or with a q_lora_rank two projections and a norm between.
class LatentQueries {
 public:
  LatentQueries(const nn::Scope& scope, const DeepseekConfig& c);
  Tensor operator()(const Tensor& hidden_states);

 private:
  std::optional<nn::Linear> q_proj_, q_a_proj_;
  std::optional<LlamaRMSNorm> q_a_layernorm_;
  std::optional<nn::Linear> q_b_proj_;
};

/// DeepseekV2Attention, DeepseekV3Attention.
class LatentAttention : public nn::Module<LatentAttention> {
 public:
  LatentAttention(const nn::Scope& scope, const DeepseekConfig& c, LatentRotation rotate);
  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const CosSin& position_embeddings);

 private:
  std::pair<Tensor, Tensor> expand_kv(const Tensor& latent, const Tensor& given_k_rot);

  AttentionCall call_;
  LatentRotation rotate_;
  std::int64_t qk_nope_head_dim_, qk_rope_head_dim_, kv_lora_rank_, v_head_dim_;
  LatentQueries queries_;
  nn::Linear kv_a_proj_with_mqa_;
  LlamaRMSNorm kv_a_layernorm_;
  nn::Linear kv_b_proj_, o_proj_;
};

/// The locals of a router that chooses the `topk_group` best groups by their scores [T, G]: they
/// live to its end.
struct GroupChoice {
  GroupChoice(const Tensor& group_scores, const DeepseekConfig& c);
  Tensor group_scores, group_idx, group_mask;
  Tensor score_mask;  ///< which experts [T, E] lie in them
};

/// The family's attention, which rotates as `Rotate` says.
template <LatentRotation Rotate>
class RotatedLatentAttention : public LatentAttention {
 public:
  RotatedLatentAttention(const nn::Scope& scope, const DeepseekConfig& c)
      : LatentAttention(scope, c, Rotate) {}
};

/// DeepseekV2Moe, DeepseekV3MoE over the family's router, made with (scope, config).
template <class Router>
class DeepseekMoe : public nn::Module<DeepseekMoe<Router>> {
 public:
  DeepseekMoe(const nn::Scope& scope, const DeepseekConfig& c)
      : nn::Module<DeepseekMoe>(scope),
        experts_(scope / "experts", c),
        gate_(scope / "gate", c),
        shared_experts_(scope / "shared_experts", shared(c)) {}

  Tensor forward(const Tensor& residuals) {
    const Routing routing = gate_(residuals);
    Tensor hidden_states = residuals.view({-1, residuals.size(-1)});
    hidden_states =
        experts_(hidden_states, routing.indices, routing.weights).view(residuals.sizes());
    hidden_states = hidden_states.add(shared_experts_(residuals));
    return hidden_states;
  }

 private:
  static DecoderConfig shared(const DeepseekConfig& c) {
    DecoderConfig other = c;
    other.intermediate_size = c.moe_intermediate_size * c.n_shared_experts;
    return other;
  }

  Experts experts_;
  Router gate_;
  LlamaMLP shared_experts_;
};

}  // namespace memtape::family
