// SPDX-License-Identifier: Apache-2.0
// LFM3's layers and body: LFM2's convolutions, and attention that slides or sees everything, each
// with a rope of its own and a gate on every head; norms before and behind each branch. Mirroring
// transformers 5.24 models/lfm3/modular_lfm3.py.
#pragma once

#include <optional>
#include <utility>

#include "family/models/lfm2.h"
#include "family/parts/attention_of.h"

namespace memtape::family {

/// Every fourth layer sees everything, and those two before and behind slide; the first does not.
inline std::optional<LayerType> lfm3_type(std::int64_t layer) {
  if (layer % 4 == 2) return LayerType::full_attention;
  if (layer % 4 == 0 && layer > 0) return LayerType::sliding_attention;
  return std::nullopt;
}

struct Lfm3Config : DecoderConfig {
  Lfm3Config(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options,
                      {.vocab_size = 128000,
                       .hidden_size = 2048,
                       .intermediate_size = 7680,
                       .num_hidden_layers = 24,
                       .num_attention_heads = 16,
                       .num_key_value_heads = 4,
                       .head_dim = 128,
                       .tie_word_embeddings = true}),
        types(read_mixed_layer_types(c, num_hidden_layers, "conv", lfm3_type)),
        conv_bias(c.boolean("conv_bias", false)),
        use_sandwich_norm(c.boolean("use_sandwich_norm", true)),
        use_attention_gate(c.boolean("use_attention_gate", true)),
        conv_kernel(c.dimension("conv_L_cache", 7)) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    sliding_window = c.has("sliding_window") ? c.optional_dimension("sliding_window") : 256;
    layer_types = attending_types(types);
    masks_by_layer_type = true;
    check_sliding_window(c, *this);
    read_ropes(c);
  }
  bool attends(std::int64_t layer) const {
    return types[static_cast<std::size_t>(layer)].has_value();
  }

  MixedLayerTypes types;
  LayerRopes ropes;
  bool conv_bias, use_sandwich_norm, use_attention_gate;
  std::int64_t conv_kernel;

 private:
  /// Of the types in use, full attention first.
  void read_ropes(const Config& c) {
    const Config by_type = c.object("rope_parameters");
    const bool none = c.is_null("rope_parameters");
    const auto add = [&](LayerType type, const Config& settings, RopeType otherwise,
                         double partial) {
      for (const std::optional<LayerType>& used : types) {
        if (used != type) continue;
        ropes.types.push_back({type, layer_type_rope(settings, head_dim, otherwise, partial)});
        ropes.types.back().rope.keeps_float32 = true;
        return;
      }
    };
    add(LayerType::full_attention, by_type.object("full_attention"),
        none ? RopeType::proportional : RopeType::standard, none ? 0.5 : 1.0);
    add(LayerType::sliding_attention, by_type.object("sliding_attention"), RopeType::standard, 1.0);
  }
};

/// Qwen3's, rotated in float32 and scaled by a gate for each head.
struct Lfm3Steps : Rotated<apply_rotary_pos_emb_in_float> {
  Lfm3Steps(const nn::Scope& scope, const Lfm3Config& c, std::int64_t layer)
      : Rotated(scope, c, layer), norms(scope, c) {
    if (c.use_attention_gate)
      g_proj.emplace(scope / "g_proj", c.hidden_size, c.num_attention_heads, false);
  }
  Tensor query_heads(const Tensor& q) { return norms.q_norm(q); }
  Tensor key_heads(const Tensor& k) { return norms.k_norm(k); }
  Tensor gated(const Tensor& attn_output, const Tensor& hidden_states) {
    if (!g_proj) return attn_output;
    return attn_output.mul(ghost::sigmoid((*g_proj)(hidden_states)).unsqueeze(-1));
  }
  HeadNorms<LlamaRMSNorm> norms;
  std::optional<nn::Linear> g_proj;
};

class Lfm3DecoderLayer : public nn::GradientCheckpointingLayer<Lfm3DecoderLayer> {
 public:
  Lfm3DecoderLayer(const nn::Scope& scope, const Lfm3Config& c, nn::ListIndex layer)
      : GradientCheckpointingLayer(scope) {
    if (c.attends(layer))
      self_attn_.emplace(scope / "self_attn", c, layer);
    else
      conv_.emplace(scope / "conv", c);
    feed_forward_.emplace(scope / "feed_forward", c, layer);
    operator_norm_.emplace(scope / "operator_norm", c.hidden_size);
    ffn_norm_.emplace(scope / "ffn_norm", c.hidden_size);
    if (!c.use_sandwich_norm) return;
    post_operator_norm_.emplace(scope / "post_operator_norm", c.hidden_size);
    post_ffn_norm_.emplace(scope / "post_ffn_norm", c.hidden_size);
  }

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    Tensor residual = x;
    Tensor hidden_states =
        self_attn_ ? (*self_attn_)((*operator_norm_)(x), attention_mask, position_embeddings)
                   : (*conv_)((*operator_norm_)(x));
    if (post_operator_norm_) hidden_states = (*post_operator_norm_)(hidden_states);
    hidden_states = residual.add(hidden_states);

    residual = hidden_states;
    hidden_states = (*ffn_norm_)(hidden_states);
    hidden_states = (*feed_forward_)(hidden_states);
    if (post_ffn_norm_) hidden_states = (*post_ffn_norm_)(hidden_states);
    hidden_states = residual.add(hidden_states);
    return hidden_states;
  }

 private:
  std::optional<AttentionOf<Lfm3Steps>> self_attn_;
  std::optional<Lfm2ShortConv> conv_;
  std::optional<Lfm2MLP> feed_forward_;
  std::optional<LlamaRMSNorm> operator_norm_, ffn_norm_, post_operator_norm_, post_ffn_norm_;
};

class Lfm3Model : public nn::Module<Lfm3Model> {
 public:
  Lfm3Model(const nn::Scope& scope, const Lfm3Config& c)
      : Module(scope),
        embed_tokens(scope / "embed_tokens", c.vocab_size, c.hidden_size),
        config_(c),
        layers_(scope / "layers", c.num_hidden_layers, c),
        rotary_emb_(scope / "rotary_emb", c.ropes),
        embedding_norm_(scope / "embedding_norm", c.hidden_size) {
    rotary_emb_.init_weights();
  }

  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask) {
    const Tensor inputs_embeds = embed_tokens(input_ids);
    const Tensor position_ids = position_ids_for(inputs_embeds);
    const LayerMasks masks =
        create_layer_masks(config_, attention_mask, inputs_embeds, position_ids);
    create_recurrent_attention_mask(attention_mask, inputs_embeds.size(1));
    Tensor hidden_states = inputs_embeds;
    const LayerCosSin position_embeddings = rotary_emb_(hidden_states, position_ids);
    std::int64_t layer = 0;
    for (Lfm3DecoderLayer& decoder_layer : layers_) {
      const LayerType type = config_.layer_type(layer);
      hidden_states = config_.attends(layer++)
                          ? decoder_layer(hidden_states, masks.of(type),
                                          of_layer(position_embeddings, type), position_ids)
                          : decoder_layer(hidden_states, Tensor(), CosSin(), position_ids);
    }
    return embedding_norm_(hidden_states);
  }

  nn::Embedding embed_tokens;

 private:
  Lfm3Config config_;
  nn::ModuleList<Lfm3DecoderLayer> layers_;
  LayerTypeRotaryEmbedding rotary_emb_;
  LlamaRMSNorm embedding_norm_;
};

struct Lfm3Parts : DecoderParts {
  using Settings = Lfm3Config;
};

}  // namespace memtape::family
