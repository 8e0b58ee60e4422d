// SPDX-License-Identifier: Apache-2.0
// Pixtral's vision tower: Llama's layers over the patches of images of any size. A step without
// images does not run it: it takes memory, but gets no gradients. Mirrors the constructors of
// transformers 5.17 models/pixtral/modeling_pixtral.py.
#pragma once

#include <optional>

#include "family/parts/llama_layer.h"
#include "family/pretrained.h"
#include "nn/convolution.h"

namespace memtape::family {

struct PixtralVisionConfig {
  explicit PixtralVisionConfig(const Config& c);
  std::int64_t hidden_size, intermediate_size, num_hidden_layers, num_attention_heads, num_channels,
      patch_size, image_size, head_dim;
};

/// PixtralAttentionLayer.
class PixtralLayer {
 public:
  PixtralLayer(const nn::Scope& scope, const PixtralVisionConfig& c);

 private:
  LlamaRMSNorm attention_norm_;
  nn::Scope feed_forward_;
  nn::Linear gate_proj_, up_proj_, down_proj_;
  nn::Scope attention_;
  nn::Linear k_proj_, v_proj_, q_proj_, o_proj_;
  LlamaRMSNorm ffn_norm_;
};

/// PixtralVisionModel. The angles of rows and of columns share the frequencies of one head; before
/// kPixtralHasFrequencies, a table had the angles of every patch of the largest image.
class PixtralVisionTower {
 public:
  PixtralVisionTower(const nn::Scope& scope, const PixtralVisionConfig& c);

 private:
  nn::Convolution patch_conv_;
  LlamaRMSNorm ln_pre_;
  nn::ModuleList<PixtralLayer> layers_;
  std::optional<RotaryEmbedding> patch_positional_embedding_;
  Tensor inv_freq_, original_inv_freq_;
};

}  // namespace memtape::family
