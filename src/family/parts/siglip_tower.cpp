// SPDX-License-Identifier: Apache-2.0
#include "family/parts/siglip_tower.h"

#include "family/parts/config_checks.h"
#include "ghost/ops/creation.h"

namespace memtape::family {

SiglipVisionConfig::SiglipVisionConfig(const Config& c, const ModelOptions& options)
    : ClipTowerConfig(c, options,
                      {.hidden_size = 768,
                       .intermediate_size = 3072,
                       .num_attention_heads = 12,
                       .hidden_act = "gelu_pytorch_tanh"}),
      num_channels(c.dimension("num_channels", 3)),
      image_size(c.dimension("image_size", 224)),
      patch_size(c.dimension("patch_size", 16)),
      vision_use_head(c.boolean("vision_use_head", true)) {
  check_divides(c, "num_attention_heads", num_attention_heads, hidden_size);
}

SiglipPoolingHead::SiglipPoolingHead(const nn::Scope& scope, const SiglipVisionConfig& c)
    : probe_(scope.parameter("probe", {1, 1, c.hidden_size})),
      attention_(scope / "attention"),
      in_proj_weight_(attention_.parameter("in_proj_weight", {3 * c.hidden_size, c.hidden_size})),
      in_proj_bias_(attention_.parameter("in_proj_bias", {3 * c.hidden_size})),
      out_proj_(attention_ / "out_proj", c.hidden_size, c.hidden_size),
      layernorm_(scope / "layernorm", c.hidden_size),
      mlp_(scope / "mlp", c) {}

SiglipVisionTower::SiglipVisionTower(const nn::Scope& scope, const SiglipVisionConfig& c)
    : embeddings_(scope / "embeddings"),
      patch_embedding_(embeddings_ / "patch_embedding",
                       Dims{c.hidden_size, c.num_channels, c.patch_size, c.patch_size}, true),
      position_embedding_(embeddings_ / "position_embedding", c.num_positions(), c.hidden_size),
      position_ids_(ghost::arange(c.num_positions(), DType::int64).unsqueeze(0)),
      encoder_(scope / "encoder", c),
      post_layernorm_(scope / "post_layernorm", c.hidden_size) {
  embeddings_.buffer("position_ids", position_ids_);
  if (c.vision_use_head) head_.emplace(scope / "head", c);
}

}  // namespace memtape::family
