// SPDX-License-Identifier: Apache-2.0
#include "family/parts/vision_towers.h"

#include "family/parts/config_checks.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {

QwenVisionConfig::QwenVisionConfig(const Config& c, QwenTower which)
    : tower(which),
      depth(c.layers("depth", which == QwenTower::qwen3_vl ? 27 : 32)),
      num_heads(c.dimension({"num_heads", "num_attention_heads"}, 16)),
      in_channels(c.dimension("in_channels", 3)),
      patch_size(c.dimension("patch_size", which == QwenTower::qwen3_vl ? 16 : 14)),
      spatial_merge_size(c.dimension("spatial_merge_size", 2)),
      temporal_patch_size(c.dimension("temporal_patch_size", 2)) {
  if (tower == QwenTower::qwen2_vl) {
    hidden_size = c.dimension("embed_dim", 1280);
    intermediate_size = hidden_size * c.dimension("mlp_ratio", 4);
    out_hidden_size = c.dimension("hidden_size", 3584);
  } else {
    const bool third = tower == QwenTower::qwen3_vl;
    hidden_size = c.dimension("hidden_size", third ? 1152 : 3584);
    intermediate_size = c.dimension("intermediate_size", third ? 4304 : 3420);
    out_hidden_size = c.dimension("out_hidden_size", 3584);
  }
  if (tower == QwenTower::qwen3_vl) {
    num_position_embeddings = c.dimension("num_position_embeddings", 2304);
    deepstack_mergers =
        c.is_null("deepstack_visual_indexes")
            ? 3
            : static_cast<std::int64_t>(c.integers("deepstack_visual_indexes").size());
  }
  check_divides(c, "num_heads", num_heads, hidden_size);
}

QwenVisionNorm::QwenVisionNorm(const nn::Scope& scope, std::int64_t size, QwenTower tower)
    : weight_(scope.parameter("weight", {size})),
      bias_(tower == QwenTower::qwen2_5_vl ? Tensor() : scope.parameter("bias", {size})) {}

QwenVisionBlock::QwenVisionBlock(const nn::Scope& scope, const QwenVisionConfig& c)
    : norm1_(scope / "norm1", c.hidden_size, c.tower),
      norm2_(scope / "norm2", c.hidden_size, c.tower),
      attn_(scope / "attn"),
      qkv_(attn_ / "qkv", c.hidden_size, 3 * c.hidden_size),
      proj_(attn_ / "proj", c.hidden_size, c.hidden_size),
      mlp_(scope / "mlp") {
  const auto add = [&](const char* name, std::int64_t in, std::int64_t out) {
    mlp_layers_.push_back(std::make_unique<nn::Linear>(mlp_ / name, in, out));
  };
  switch (c.tower) {
    case QwenTower::qwen2_vl:
      add("fc1", c.hidden_size, c.intermediate_size);
      add("fc2", c.intermediate_size, c.hidden_size);
      break;
    case QwenTower::qwen2_5_vl:
      add("gate_proj", c.hidden_size, c.intermediate_size);
      add("up_proj", c.hidden_size, c.intermediate_size);
      add("down_proj", c.intermediate_size, c.hidden_size);
      break;
    case QwenTower::qwen3_vl:
      add("linear_fc1", c.hidden_size, c.intermediate_size);
      add("linear_fc2", c.intermediate_size, c.hidden_size);
      break;
  }
}

QwenPatchMerger::QwenPatchMerger(const nn::Scope& scope, const QwenVisionConfig& c,
                                 bool postshuffle_norm)
    : norm_(scope / (c.tower == QwenTower::qwen3_vl ? "norm" : "ln_q"),
            postshuffle_norm ? c.merged_size() : c.hidden_size, c.tower),
      mlp_(c.tower == QwenTower::qwen3_vl ? scope : scope / "mlp"),
      first_(mlp_ / (c.tower == QwenTower::qwen3_vl ? "linear_fc1" : "0"), c.merged_size(),
             c.merged_size()),
      second_(mlp_ / (c.tower == QwenTower::qwen3_vl ? "linear_fc2" : "2"), c.merged_size(),
              c.out_hidden_size) {}

QwenVisionTower::QwenVisionTower(const nn::Scope& scope, const QwenVisionConfig& c)
    : patch_embed_(
          scope / "patch_embed" / "proj",
          Dims{c.hidden_size, c.in_channels, c.temporal_patch_size, c.patch_size, c.patch_size},
          c.tower == QwenTower::qwen3_vl),
      pos_embed_(c.tower == QwenTower::qwen3_vl
                     ? std::optional<nn::Embedding>(std::in_place, scope / "pos_embed",
                                                    c.num_position_embeddings, c.hidden_size)
                     : std::nullopt),
      rotary_pos_emb_(scope / "rotary_pos_emb",
                      {.dim = c.hidden_size / c.num_heads / 2,
                       .keeps_original = ghost::has(changes::kVisionRopesKeepOriginals)}),
      blocks_(scope / "blocks", c.depth, c),
      merger_(scope / "merger", c, false),
      deepstack_merger_list_(scope / "deepstack_merger_list", c.deepstack_mergers, c, true) {
  rotary_pos_emb_.init_weights();
}

}  // namespace memtape::family
