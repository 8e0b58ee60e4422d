// SPDX-License-Identifier: Apache-2.0
// The layers of BART and of those that copy them: mBART and Whisper norm before each branch instead
// of after it; mirroring transformers 5.17 models/bart/modeling_bart.py, models/mbart/
// modeling_mbart.py and models/whisper/modeling_whisper.py.
#pragma once

#include <string_view>

#include "family/parts/attention_interface.h"
#include "family/parts/several_inputs_layer.h"
#include "nn/activations.h"
#include "nn/checkpointing.h"
#include "nn/layers.h"

namespace memtape::family {

/// The encoder or the decoder.
struct BartStack {
  std::int64_t layers = 12, attention_heads = 16, ffn_dim = 4096;
};

struct BartDefaults {
  std::int64_t d_model = 1024;
  BartStack encoder, decoder;
  double dropout = 0.1, attention_dropout = 0.0, layerdrop = 0.0;
  std::string_view activation_function = "gelu";
};

struct BartLayerConfig {
  BartLayerConfig(const Config& c, const ModelOptions& options, const BartDefaults& defaults);

  std::int64_t d_model;
  BartStack encoder, decoder;
  nn::Activation activation_function;
  double dropout, attention_dropout, activation_dropout;
  AttentionImplementation attention;
  bool norms_first = false;
  bool is_whisper = false;  ///< queries scaled by themselves, keys without bias, all of them packed
};

/// An embedding times a number, even if that is 1.
class BartScaledWordEmbedding : public nn::Embedding {
 public:
  using Embedding::Embedding;
  Tensor operator()(const Tensor& input_ids) {
    return nn::Embedding::operator()(input_ids).mul(ghost::kScale);
  }
};

enum class BartAttentionKind { encoder, decoder, cross };

class BartAttention : public nn::Module<BartAttention> {
 public:
  BartAttention(const nn::Scope& scope, const BartLayerConfig& c, BartAttentionKind kind);
  /// If `key_value_states` is defined, the queries attend to it instead of `hidden_states`.
  Tensor forward(const Tensor& hidden_states, const Tensor& key_value_states,
                 const Tensor& attention_mask);

 private:
  /// [B, S, d_model] as [B, heads, S, head_dim].
  Tensor by_heads(const Tensor& projected) const;
  /// Before kBartCallsTheInterface.
  Tensor written_out(const Tensor& hidden_states, const Tensor& current_states,
                     const Tensor& attention_mask);
  /// Over [B * heads, S, head_dim], of queries that are scaled.
  Tensor eager_products(const Tensor& query_states, const Tensor& key_states,
                        const Tensor& value_states, const Tensor& attention_mask) const;

  AttentionCall call_;
  bool is_whisper_, returns_key_values_;
  std::int64_t head_dim_;
  nn::Linear k_proj_, v_proj_, q_proj_, out_proj_;
};

class BartEncoderLayer : public nn::GradientCheckpointingLayer<BartEncoderLayer> {
 public:
  static constexpr bool kTakesTensorsByPosition = true;

  BartEncoderLayer(const nn::Scope& scope, const BartLayerConfig& c);
  Tensor forward(const Tensor& x, const Tensor& attention_mask);

 private:
  BartLayerConfig config_;
  BartAttention self_attn_;
  nn::LayerNorm self_attn_layer_norm_;
  nn::Linear fc1_, fc2_;
  nn::LayerNorm final_layer_norm_;
};

class BartDecoderLayer : public LayerOfSeveralInputs<BartDecoderLayer> {
 public:
  static constexpr std::size_t kFurtherInput = 1;  ///< encoder_hidden_states

  BartDecoderLayer(const nn::Scope& scope, const BartLayerConfig& c);
  /// Layers are given the positions, too, in releases that hand them on, and do not look at them.
  Tensor forward(const Tensor& x, const Tensor& attention_mask, const Tensor& encoder_hidden_states,
                 const Tensor& encoder_attention_mask, const Tensor& cache_position = {});

 private:
  BartLayerConfig config_;
  BartAttention self_attn_;
  nn::LayerNorm self_attn_layer_norm_;
  BartAttention encoder_attn_;
  nn::LayerNorm encoder_attn_layer_norm_;
  nn::Linear fc1_, fc2_;
  nn::LayerNorm final_layer_norm_;
};

}  // namespace memtape::family
