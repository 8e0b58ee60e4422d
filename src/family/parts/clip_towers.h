// SPDX-License-Identifier: Apache-2.0
// CLIP's layers and its vision tower, which models that take images and text have, too; mirroring
// transformers 5.17 models/clip/modeling_clip.py.
#pragma once

#include "family/parts/attention_interface.h"
#include "family/parts/clip_mlp.h"
#include "family/parts/position_ids.h"
#include "nn/activations.h"
#include "nn/checkpointing.h"
#include "nn/convolution.h"
#include "nn/layers.h"

namespace memtape::family {

/// The class defaults of CLIPTextConfig, CLIPVisionConfig and SiglipVisionConfig.
struct ClipDefaults {
  std::int64_t hidden_size, intermediate_size, num_attention_heads;
  const char* hidden_act = "quick_gelu";
};

/// What both towers have.
struct ClipTowerConfig {
  ClipTowerConfig(const Config& c, const ModelOptions& options, const ClipDefaults& defaults);
  std::int64_t hidden_size, intermediate_size, num_hidden_layers, num_attention_heads;
  nn::Activation hidden_act;
  double attention_dropout;
  AttentionImplementation attention;
  bool is_causal = false;
};

struct ClipVisionConfig : ClipTowerConfig {
  ClipVisionConfig(const Config& c, const ModelOptions& options);
  std::int64_t num_channels, image_size, patch_size;
  std::int64_t num_positions() const {
    return (image_size / patch_size) * (image_size / patch_size) + 1;
  }
};

class ClipAttention : public nn::Module<ClipAttention> {
 public:
  ClipAttention(const nn::Scope& scope, const ClipTowerConfig& c);
  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask);

 private:
  AttentionCall call_;
  std::int64_t head_dim_;
  nn::Linear k_proj_, v_proj_, q_proj_, out_proj_;
};

class ClipEncoderLayer : public nn::GradientCheckpointingLayer<ClipEncoderLayer> {
 public:
  ClipEncoderLayer(const nn::Scope& scope, const ClipTowerConfig& c);
  Tensor forward(const Tensor& x, const Tensor& attention_mask);

 private:
  ClipAttention self_attn_;
  nn::LayerNorm layer_norm1_;
  ClipMLP mlp_;
  nn::LayerNorm layer_norm2_;
};

/// CLIPEncoder.
class ClipEncoder : public nn::Module<ClipEncoder> {
 public:
  ClipEncoder(const nn::Scope& scope, const ClipTowerConfig& c);
  Tensor forward(const Tensor& inputs_embeds, const Tensor& attention_mask);

 private:
  nn::ModuleList<ClipEncoderLayer> layers_;
};

class ClipVisionEmbeddings : public nn::Module<ClipVisionEmbeddings> {
 public:
  ClipVisionEmbeddings(const nn::Scope& scope, const ClipVisionConfig& c);
  void init_weights() const { position_ids_.init_weights(); }
  Tensor forward(const Tensor& pixel_values);

 private:
  std::int64_t patch_size_;
  Tensor class_embedding_;
  nn::Convolution patch_embedding_;
  nn::Embedding position_embedding_;
  PositionIds position_ids_;
};

struct ClipTowerOutput {
  Tensor pooler_output, last_hidden_state;
};

/// CLIPVisionModel.
class ClipVisionTower : public nn::Module<ClipVisionTower> {
 public:
  ClipVisionTower(const nn::Scope& scope, const ClipVisionConfig& c);
  ClipTowerOutput forward(const Tensor& pixel_values);

 private:
  ClipVisionEmbeddings embeddings_;
  nn::LayerNorm pre_layrnorm_;
  ClipEncoder encoder_;
  nn::LayerNorm post_layernorm_;
};

}  // namespace memtape::family
