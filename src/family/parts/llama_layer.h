// SPDX-License-Identifier: Apache-2.0
// Llama's parts, mirroring transformers 5.17 models/llama/modeling_llama.py. Other families inherit
// from them there (modular_*.py) and use them here; DecoderConfig covers their small differences.
#pragma once

#include "family/parts/attention_of.h"
#include "family/parts/decoder.h"
#include "nn/checkpointing.h"
#include "nn/layers.h"

namespace memtape::family {

class LlamaRMSNorm : public nn::Module<LlamaRMSNorm> {
 public:
  LlamaRMSNorm(const nn::Scope& scope, std::int64_t hidden_size);
  Tensor forward(const Tensor& hidden_states);

 private:
  Tensor weight_;
};

class LlamaMLP : public nn::Module<LlamaMLP> {
 public:
  LlamaMLP(const nn::Scope& scope, const DecoderConfig& config);
  Tensor forward(const Tensor& x);

 private:
  nn::Linear gate_proj_, up_proj_, down_proj_;
  nn::Activation act_fn_;
};

using LlamaAttention = AttentionOf<Rotated<apply_rotary_pos_emb>>;

/// The same, but q, k and v are all projected before the first one is reshaped (Mllama, Qwen2-VL).
using ProjectingFirstAttention = AttentionOf<ProjectedThenRotated<apply_rotary_pos_emb>>;

/// A part of layer `layer`; it gets the number of the layer if its constructor takes one.
template <class Part, class Settings>
Part layer_part(const nn::Scope& scope, const Settings& c, std::int64_t layer) {
  if constexpr (std::is_constructible_v<Part, const nn::Scope&, const Settings&, std::int64_t>)
    return Part(scope, c, layer);
  else
    return Part(scope, c);
}

/// x + attention(norm(x)), then x + mlp(norm(x)).
template <class Attention, class Mlp = LlamaMLP, class Norm = LlamaRMSNorm>
class PreNormDecoderLayer
    : public nn::GradientCheckpointingLayer<PreNormDecoderLayer<Attention, Mlp, Norm>> {
 public:
  template <class Settings>
  PreNormDecoderLayer(const nn::Scope& scope, const Settings& c, nn::ListIndex layer,
                      const char* second_norm = "post_attention_layernorm")
      : nn::GradientCheckpointingLayer<PreNormDecoderLayer>(scope),
        self_attn_(layer_part<Attention>(scope / "self_attn", c, layer)),
        mlp_(layer_part<Mlp>(scope / "mlp", c, layer)),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        post_attention_layernorm_(scope / second_norm, c.hidden_size) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    Tensor residual = x;
    Tensor hidden_states = input_layernorm_(x);
    hidden_states = self_attn_(hidden_states, attention_mask, position_embeddings);
    hidden_states = residual.add(hidden_states);

    residual = hidden_states;
    hidden_states = post_attention_layernorm_(hidden_states);
    hidden_states = mlp_(hidden_states);
    return residual.add(hidden_states);
  }

 private:
  Attention self_attn_;
  Mlp mlp_;
  Norm input_layernorm_, post_attention_layernorm_;
};

using LlamaDecoderLayer = PreNormDecoderLayer<LlamaAttention>;

/// The settings of each family that differs from Llama only in its configuration.
DecoderConfig llama_config(const Config& c, const ModelOptions& options);
DecoderConfig mistral_config(const Config& c, const ModelOptions& options);
DecoderConfig qwen2_config(const Config& c, const ModelOptions& options);

struct LlamaParts : DecoderParts {
  using DecoderLayer = LlamaDecoderLayer;
  using Norm = LlamaRMSNorm;
};

}  // namespace memtape::family
