// SPDX-License-Identifier: Apache-2.0
// What DeepSeek's V2 and V3 share: multi-head latent attention, whose keys and values are expanded
// from one narrow latent per token; mirroring transformers 5.17
// models/deepseek_v2/modeling_deepseek_v2.py and models/deepseek_v3/modeling_deepseek_v3.py.
#pragma once

#include <optional>
#include <utility>

#include "family/parts/deepseek_moe.h"
#include "family/parts/llama_layer.h"

namespace memtape::family {

struct DeepseekConfig : DeepseekMoeConfig {
  DeepseekConfig(const Config& c, const ModelOptions& options, const DecoderDefaults& defaults,
                 const MoeDefaults& moe);

  std::int64_t kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim;
  std::optional<std::int64_t> q_lora_rank;
  bool rope_interleave = true;
  bool gates_heads = false;  ///< what each head attends to is scaled by a gate (Ling 3)

  std::int64_t qk_head_dim() const { return qk_nope_head_dim + qk_rope_head_dim; }
};

/// How a family rotates q [B, H, S, D] and the one k [B, 1, S, D].
using LatentRotation = std::pair<Tensor, Tensor> (*)(const Tensor& q, const Tensor& k,
                                                     const CosSin& position_embeddings);

/// The locals of a latent attention's forward: q [B, H, S, D] and the latent [B, 1, S, R] with the
/// one rotated k, before and after rotation.
struct LatentStates {
  Tensor q_states, q_pass, q_rot, compressed_kv, kv_nope, k_rot;
};

/// Keys without their rotated part and values of all heads, which lie in one tensor.
struct ExpandedLatent {
  Tensor both, k_nope, value_states;
};

/// The projections of latent attention.
class LatentProjections {
 public:
  LatentProjections(const nn::Scope& scope, const DeepseekConfig& c);

  /// q_proj; or, if there is a q_lora_rank, two projections with a norm between them. query_latent
  /// holds the first projection and the norm.
  Tensor queries(const Tensor& hidden_states);
  Tensor query_latent(const Tensor& hidden_states);
  Tensor expand_queries(const Tensor& latent) { return (*q_b_proj_)(latent); }

  LatentStates project(const In& queries, const Tensor& hidden_states);
  /// What project makes before the norm: the latent and the one k as [B, S, R].
  LatentStates split(const In& queries, const Tensor& hidden_states);
  /// The norm of the latent, [B, S, R] to [B, 1, S, R].
  Tensor norm_latent(const Tensor& latent);
  ExpandedLatent expand(const In& latent, std::int64_t seq_length);
  /// Keys and values as they were made before kLatentIsCached, of what was expanded first.
  static std::pair<Tensor, Tensor> joined(const ExpandedLatent& heads, const Tensor& k_rot);
  /// Expands the latent to keys and values of all heads.
  std::pair<Tensor, Tensor> expand_kv(const Tensor& latent, const Tensor& given_k_rot);
  Tensor project_output(const Tensor& attn_output) { return (*o_proj_)(attn_output); }

 private:
  std::int64_t qk_nope_head_dim_, qk_rope_head_dim_, kv_lora_rank_, v_head_dim_;
  std::optional<nn::Linear> q_proj_, q_a_proj_;
  std::optional<LlamaRMSNorm> q_a_layernorm_;
  std::optional<nn::Linear> q_b_proj_;
  std::optional<nn::Linear> kv_a_proj_with_mqa_;
  std::optional<LlamaRMSNorm> kv_a_layernorm_;
  std::optional<nn::Linear> kv_b_proj_, o_proj_;
};

/// What is done to whole queries [B, H, S, D] before attention.
using QueryScaling = Tensor (*)(const Tensor& query_states);

/// DeepseekV2Attention, DeepseekV3Attention, and Mistral4Attention, which scales queries.
class LatentAttention : public nn::Module<LatentAttention> {
 public:
  LatentAttention(const nn::Scope& scope, const DeepseekConfig& c, LatentRotation rotate,
                  QueryScaling scale = nullptr);
  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const CosSin& position_embeddings);

 private:
  AttentionCall call_;
  LatentRotation rotate_;
  QueryScaling scale_;
  LatentProjections latent_;
  std::optional<nn::Linear> g_proj_;
};

/// The family's attention, which rotates as `Rotate` says.
template <LatentRotation Rotate>
class RotatedLatentAttention : public LatentAttention {
 public:
  RotatedLatentAttention(const nn::Scope& scope, const DeepseekConfig& c)
      : LatentAttention(scope, c, Rotate) {}
};

/// DeepseekV3Attention: rotates neighbouring pairs, or halves if the configuration says so.
class DeepseekV3Attention : public LatentAttention {
 public:
  DeepseekV3Attention(const nn::Scope& scope, const DeepseekConfig& c, QueryScaling scale = nullptr)
      : LatentAttention(scope, c,
                        c.rope_interleave ? apply_rotary_pos_emb_interleave : apply_rotary_pos_emb,
                        scale) {}
};

}  // namespace memtape::family
