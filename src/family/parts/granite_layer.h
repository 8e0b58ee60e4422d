// SPDX-License-Identifier: Apache-2.0
// A decoder layer whose branches are multiplied by a number before they are added: x + attention(
// norm(x)) * n, then x + mlp(norm(x)) * n. GraniteDecoderLayer of transformers 5.17
// models/granite/modular_granite.py, and HyperCLOVA X's with norms behind each branch
// (models/hyperclovax/modular_hyperclovax.py); MiniCPM3DecoderLayer of
// models/minicpm3/modular_minicpm3.py is the same over another attention.
#pragma once

#include <optional>

#include "family/parts/granite_moe.h"
#include "family/parts/llama_layer.h"

namespace memtape::family {

template <class Attention>
class GraniteDecoderLayer : public nn::GradientCheckpointingLayer<GraniteDecoderLayer<Attention>> {
 public:
  template <class Settings>
  GraniteDecoderLayer(const nn::Scope& scope, const Settings& c, nn::ListIndex layer)
      : nn::GradientCheckpointingLayer<GraniteDecoderLayer>(scope),
        self_attn_(layer_part<Attention>(scope / "self_attn", c, layer)),
        mlp_(scope / "mlp", c),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size) {
    if constexpr (requires { c.use_post_norm; }) {
      if (!c.use_post_norm) return;
      post_norm1_.emplace(scope / "post_norm1", c.hidden_size);
      post_norm2_.emplace(scope / "post_norm2", c.hidden_size);
    }
  }

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    Tensor residual = x;
    Tensor hidden_states = input_layernorm_(x);
    hidden_states = self_attn_(hidden_states, attention_mask, position_embeddings);
    if (post_norm1_) hidden_states = (*post_norm1_)(hidden_states);
    hidden_states = residual.add(hidden_states.mul(kMultiplier));

    residual = hidden_states;
    hidden_states = post_attention_layernorm_(hidden_states);
    hidden_states = mlp_(hidden_states);
    if (post_norm2_) hidden_states = (*post_norm2_)(hidden_states);
    return residual.add(hidden_states.mul(kMultiplier));
  }

 private:
  Attention self_attn_;
  LlamaMLP mlp_;
  LlamaRMSNorm input_layernorm_, post_attention_layernorm_;
  std::optional<LlamaRMSNorm> post_norm1_, post_norm2_;
};

}  // namespace memtape::family
