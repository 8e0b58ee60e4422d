// SPDX-License-Identifier: Apache-2.0
// SigLIP's vision tower: CLIP's layers behind patches with a bias and no class embedding, and a
// head that pools by attention. A step without images passes it over: it takes memory, but gets no
// gradients. Mirrors the constructors of transformers 5.17 models/siglip/modeling_siglip.py.
#pragma once

#include <optional>

#include "family/parts/clip_towers.h"

namespace memtape::family {

struct SiglipVisionConfig : ClipTowerConfig {
  SiglipVisionConfig(const Config& c, const ModelOptions& options);
  std::int64_t num_channels, image_size, patch_size;
  bool vision_use_head;
  std::int64_t num_positions() const {
    return (image_size / patch_size) * (image_size / patch_size);
  }
};

/// SiglipMultiheadAttentionPoolingHead, whose attention is torch.nn.MultiheadAttention.
class SiglipPoolingHead {
 public:
  SiglipPoolingHead(const nn::Scope& scope, const SiglipVisionConfig& c);

 private:
  Tensor probe_;
  nn::Scope attention_;
  Tensor in_proj_weight_, in_proj_bias_;
  nn::Linear out_proj_;
  nn::LayerNorm layernorm_;
  ClipMLP mlp_;
};

/// SiglipVisionModel.
class SiglipVisionTower {
 public:
  SiglipVisionTower(const nn::Scope& scope, const SiglipVisionConfig& c);

 private:
  nn::Scope embeddings_;
  nn::Convolution patch_embedding_;
  nn::Embedding position_embedding_;
  Tensor position_ids_;
  ClipEncoder encoder_;
  nn::LayerNorm post_layernorm_;
  std::optional<SiglipPoolingHead> head_;
};

}  // namespace memtape::family
