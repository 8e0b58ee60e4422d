// SPDX-License-Identifier: Apache-2.0
// How ViT and those after it (DeiT, DINOv2) turn an image into tokens: patches behind a token for
// the class and others, learned positions; ViTEmbeddings, DeiTEmbeddings and Dinov2Embeddings of
// transformers 5.17 models/vit/modeling_vit.py, models/deit/modeling_deit.py and
// models/dinov2/modeling_dinov2.py.
#pragma once

#include "family/parts/image_sizes.h"
#include "family/pretrained.h"
#include "nn/activations.h"
#include "nn/convolution.h"
#include "nn/layers.h"

namespace memtape::family {

struct ViTConfig {
  ViTConfig(const Config& c, const ModelOptions& options, std::int64_t patch_size = 16);

  std::int64_t num_patches() const {
    return (image.height / patch.height) * (image.width / patch.width);
  }

  std::int64_t hidden_size, num_hidden_layers, num_attention_heads, head_dim, intermediate_size,
      num_channels, num_labels;
  ImageSides image, patch;
  nn::Activation hidden_act;
  double hidden_dropout_prob, attention_probs_dropout_prob;
  bool qkv_bias;
  bool distills = false;        ///< DeiT's second token
  bool has_mask_token = false;  ///< DINOv2's, for images it sees in part
  AttentionImplementation attention;
};

class ViTEmbeddings : public nn::Module<ViTEmbeddings> {
 public:
  ViTEmbeddings(const nn::Scope& scope, const ViTConfig& c);
  Tensor forward(const Tensor& pixel_values);

 private:
  Tensor patch_embeddings(const Tensor& pixel_values);

  Tensor cls_token_, mask_token_;
  std::int64_t patch_size_;
  nn::Convolution projection_;
  Tensor position_embeddings_;
  nn::Dropout dropout_;
  Tensor distillation_token_;
};

/// The sample of a classifier of images.
SampleSizes image_sample(const ViTConfig& c);

}  // namespace memtape::family
