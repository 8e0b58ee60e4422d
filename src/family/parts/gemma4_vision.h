// SPDX-License-Identifier: Apache-2.0
// Gemma 4's vision tower and the module that embeds its outputs. A step without images does not run
// them: they take memory, but get no gradients. Mirrors the constructors of transformers 5.17
// models/gemma4/modeling_gemma4.py.
#pragma once

#include "family/parts/rope.h"
#include "nn/layers.h"

namespace memtape::family {

struct Gemma4VisionConfig {
  explicit Gemma4VisionConfig(const Config& c);
  std::int64_t hidden_size, intermediate_size, num_hidden_layers, num_attention_heads,
      num_key_value_heads, head_dim, patch_size, position_embedding_size;
  bool use_clipped_linears, standardize;
};

/// A norm whose weight, if it has one, multiplies in float32.
class Gemma4RMSNorm : public nn::Module<Gemma4RMSNorm> {
 public:
  Gemma4RMSNorm(const nn::Scope& scope, std::int64_t dim, bool with_scale = true);
  Tensor forward(const Tensor& hidden_states);

 private:
  Tensor weight_;
};

/// A Linear that may clip its input and output to bounds that it stores.
class Gemma4ClippableLinear {
 public:
  Gemma4ClippableLinear(const nn::Scope& scope, const Gemma4VisionConfig& c, std::int64_t in,
                        std::int64_t out);

 private:
  nn::Linear linear_;
};

class Gemma4VisionEncoderLayer {
 public:
  Gemma4VisionEncoderLayer(const nn::Scope& scope, const Gemma4VisionConfig& c);

 private:
  nn::Scope self_attn_;
  Gemma4ClippableLinear q_proj_, k_proj_, v_proj_, o_proj_;
  Gemma4RMSNorm q_norm_, k_norm_;
  nn::Scope mlp_;
  Gemma4ClippableLinear gate_proj_, up_proj_, down_proj_;
  Gemma4RMSNorm input_layernorm_, post_attention_layernorm_, pre_feedforward_layernorm_,
      post_feedforward_layernorm_;
};

class Gemma4VisionModel {
 public:
  Gemma4VisionModel(const nn::Scope& scope, const Gemma4VisionConfig& c);

 private:
  nn::Scope patch_embedder_;
  nn::Linear input_proj_;
  Tensor position_embedding_table_;
  nn::Scope encoder_;
  RotaryEmbedding rotary_emb_;
  nn::ModuleList<Gemma4VisionEncoderLayer> layers_;
  Tensor std_bias_, std_scale_;
};

}  // namespace memtape::family
