// SPDX-License-Identifier: Apache-2.0
#include "family/parts/glm_tower.h"

#include "family/parts/config_checks.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {

GlmVisionConfig::GlmVisionConfig(const Config& c, GlmTower which)
    : tower(which),
      depth(c.layers("depth", 24)),
      hidden_size(c.dimension("hidden_size", is_ocr() ? 1024 : 1536)),
      intermediate_size(c.dimension("intermediate_size", is_ocr() ? 4096 : 13696)),
      out_hidden_size(c.dimension("out_hidden_size", is_ocr() ? 1536 : 4096)),
      num_heads(c.dimension({"num_heads", "num_attention_heads"}, is_ocr() ? 16 : 12)),
      in_channels(c.dimension("in_channels", 3)),
      image_size(c.dimension("image_size", 336)),
      patch_size(c.dimension("patch_size", 14)),
      spatial_merge_size(c.dimension("spatial_merge_size", 2)),
      temporal_patch_size(c.dimension("temporal_patch_size", 2)),
      attention_bias(c.boolean("attention_bias", is_ocr())) {
  check_divides(c, "num_heads", num_heads, hidden_size);
}

GlmVisionBlock::GlmVisionBlock(const nn::Scope& scope, const GlmVisionConfig& c)
    : norm1_(scope / "norm1", c.hidden_size),
      norm2_(scope / "norm2", c.hidden_size),
      attn_(scope / "attn"),
      qkv_(attn_ / "qkv", c.hidden_size, 3 * c.hidden_size, c.attention_bias),
      proj_(attn_ / "proj", c.hidden_size, c.hidden_size, c.is_ocr() && c.attention_bias),
      q_norm_(c.is_ocr()
                  ? std::optional<LlamaRMSNorm>(std::in_place, attn_ / "q_norm", c.head_dim())
                  : std::nullopt),
      k_norm_(c.is_ocr()
                  ? std::optional<LlamaRMSNorm>(std::in_place, attn_ / "k_norm", c.head_dim())
                  : std::nullopt),
      mlp_(scope / "mlp"),
      gate_proj_(mlp_ / "gate_proj", c.hidden_size,
                 c.is_ocr() ? c.intermediate_size : c.out_hidden_size,
                 c.is_ocr() && c.attention_bias),
      up_proj_(mlp_ / "up_proj", c.hidden_size, gate_proj_.out_features,
               c.is_ocr() && c.attention_bias),
      down_proj_(mlp_ / "down_proj", gate_proj_.out_features, c.hidden_size,
                 c.is_ocr() && c.attention_bias) {}

GlmPatchMerger::GlmPatchMerger(const nn::Scope& scope, std::int64_t dim, std::int64_t context_dim)
    : proj_(scope / "proj", dim, dim, false),
      post_projection_norm_(scope / "post_projection_norm", dim),
      gate_proj_(scope / "gate_proj", dim, context_dim, false),
      up_proj_(scope / "up_proj", dim, context_dim, false),
      down_proj_(scope / "down_proj", context_dim, dim, false) {}

GlmVisionTower::GlmVisionTower(const nn::Scope& scope, const GlmVisionConfig& c)
    : position_embedding_(c.is_ocr()
                              ? std::nullopt
                              : std::optional<nn::Embedding>(
                                    std::in_place, scope / "embeddings" / "position_embedding",
                                    (c.image_size / c.patch_size) * (c.image_size / c.patch_size),
                                    c.hidden_size)),
      patch_embed_(
          scope / "patch_embed" / "proj",
          Dims{c.hidden_size, c.in_channels, c.temporal_patch_size, c.patch_size, c.patch_size},
          true),
      rotary_pos_emb_(scope / "rotary_pos_emb",
                      {.dim = c.head_dim() / 2,
                       .keeps_original = ghost::has(changes::kVisionRopesKeepOriginals)}),
      blocks_(scope / "blocks", c.depth, c),
      merger_(scope / "merger", c.out_hidden_size,
              c.is_ocr() ? c.out_hidden_size * c.in_channels : c.intermediate_size),
      post_conv_layernorm_(c.is_ocr()
                               ? std::nullopt
                               : std::optional<LlamaRMSNorm>(
                                     std::in_place, scope / "post_conv_layernorm", c.hidden_size)),
      downsample_(
          scope / "downsample",
          Dims{c.out_hidden_size, c.hidden_size, c.spatial_merge_size, c.spatial_merge_size}, true),
      post_layernorm_(scope / "post_layernorm", c.hidden_size) {
  rotary_pos_emb_.init_weights();
}

}  // namespace memtape::family
