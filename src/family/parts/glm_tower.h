// SPDX-License-Identifier: Apache-2.0
// The vision towers of GLM's models that take images and text. A step without images does not run
// them: they take memory, but get no gradients. Mirrors the constructors of transformers 5.17
// models/glm4v/modeling_glm4v.py and models/glm_ocr/modeling_glm_ocr.py.
#pragma once

#include <optional>

#include "family/parts/llama_layer.h"
#include "family/parts/rope.h"
#include "nn/convolution.h"
#include "nn/layers.h"

namespace memtape::family {

/// The tower of GLM-OCR has biases and norms of q and k, but no table of positions.
enum class GlmTower { glm4v, glm_ocr };

struct GlmVisionConfig {
  GlmVisionConfig(const Config& c, GlmTower tower);
  GlmTower tower;
  std::int64_t depth, hidden_size, intermediate_size, out_hidden_size, num_heads, in_channels,
      image_size, patch_size, spatial_merge_size, temporal_patch_size;
  bool attention_bias;
  bool is_ocr() const { return tower == GlmTower::glm_ocr; }
  std::int64_t head_dim() const { return hidden_size / num_heads; }
};

class GlmVisionBlock {
 public:
  GlmVisionBlock(const nn::Scope& scope, const GlmVisionConfig& c);

 private:
  LlamaRMSNorm norm1_, norm2_;
  nn::Scope attn_;
  nn::Linear qkv_, proj_;
  std::optional<LlamaRMSNorm> q_norm_, k_norm_;
  nn::Scope mlp_;
  nn::Linear gate_proj_, up_proj_, down_proj_;
};

class GlmPatchMerger {
 public:
  GlmPatchMerger(const nn::Scope& scope, std::int64_t dim, std::int64_t context_dim);

 private:
  nn::Linear proj_;
  nn::LayerNorm post_projection_norm_;
  nn::Linear gate_proj_, up_proj_, down_proj_;
};

class GlmVisionTower {
 public:
  GlmVisionTower(const nn::Scope& scope, const GlmVisionConfig& c);

 private:
  std::optional<nn::Embedding> position_embedding_;
  nn::Convolution patch_embed_;
  RotaryEmbedding rotary_pos_emb_;
  nn::ModuleList<GlmVisionBlock> blocks_;
  GlmPatchMerger merger_;
  std::optional<LlamaRMSNorm> post_conv_layernorm_;
  nn::Convolution downsample_;
  LlamaRMSNorm post_layernorm_;
};

/// `visual` of the whole model.
class GlmVisual {
 public:
  using Settings = GlmVisionConfig;
  GlmVisual(const nn::Scope& scope, const GlmVisionConfig& c) : visual_(scope / "visual", c) {}

 private:
  GlmVisionTower visual_;
};

}  // namespace memtape::family
