// SPDX-License-Identifier: Apache-2.0
// DeepSeek sparse attention: latent attention that sees, of what lies before a token, the
// `index_topk` tokens that a small indexer without gradients ranks highest; mirroring transformers
// 5.17 models/deepseek_v32/modeling_deepseek_v32.py and models/glm_moe_dsa/modeling_glm_moe_dsa.py.
// With torch's own attention the choice becomes a mask.
#pragma once

#include <optional>

#include "family/parts/decoder.h"
#include "family/parts/deepseek.h"

namespace memtape::family {

struct SparseAttentionConfig : DeepseekConfig {
  SparseAttentionConfig(const Config& c, const ModelOptions& options,
                        const DecoderDefaults& defaults, const MoeDefaults& moe);

  std::int64_t index_topk, index_head_dim, index_n_heads;
  bool index_rotates_pairs = false;  ///< neighbours, not halves
  std::vector<std::string>
      mlp_layer_types;  ///< "dense" or "sparse"; empty: by first_k_dense_replace

  bool has_experts(std::int64_t layer) const {
    if (mlp_layer_types.empty()) return DeepseekConfig::has_experts(layer);
    return mlp_layer_types[static_cast<std::size_t>(layer)] == "sparse";
  }
};

/// A causal mask, even where sdpa could do without since kSparseAttentionForcesItsMask: the indexer
/// needs one.
LayerMasks create_sparse_attention_mask(const SparseAttentionConfig& config,
                                        const Tensor& attention_mask, const Tensor& inputs_embeds,
                                        const Tensor& position_ids);

/// DeepseekV32Indexer.
class Indexer : public nn::Module<Indexer> {
 public:
  Indexer(const nn::Scope& scope, const SparseAttentionConfig& c);
  /// int32 [B, S, topk]: the tokens each query may see.
  Tensor forward(const Tensor& hidden_states, const Tensor& q_resid,
                 const CosSin& position_embeddings, const Tensor& attention_mask);

 private:
  std::int64_t n_heads_, head_dim_, rope_head_dim_, topk_;
  bool rotates_pairs_;
  nn::Linear wq_b_, wk_;
  nn::LayerNorm k_norm_;
  nn::Linear weights_proj_;
};

/// The attention mask where it is open and the indexer's choice allows, and what it is made of,
/// which the attention's frame holds as long.
struct ChosenMask {
  Tensor attention_mask, index_mask, key_positions;
};

/// Of the choice [B, S, topk], for so many keys; without a mask, of what lies before.
ChosenMask mask_of_choice(const Tensor& topk_indices, const Tensor& given_mask,
                          const Tensor& hidden_states, std::int64_t keys);

/// DeepseekV32Attention, GlmMoeDsaAttention: without an indexer of its own, a layer takes the
/// choice of the layer before.
class SparseAttention : public nn::Module<SparseAttention> {
 public:
  SparseAttention(const nn::Scope& scope, const SparseAttentionConfig& c, bool has_indexer = true);
  /// `topk_indices`: the choice to take; afterwards the one that was taken.
  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const CosSin& position_embeddings, Tensor& topk_indices);

 private:
  AttentionCall call_;
  LatentProjections latent_;
  std::optional<Indexer> indexer_;
};

}  // namespace memtape::family
