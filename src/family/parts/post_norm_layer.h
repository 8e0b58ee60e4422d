// SPDX-License-Identifier: Apache-2.0
// PostNormDecoderLayer: norms after attention and MLP instead of before, Olmo2DecoderLayer of
// transformers 5.17 models/olmo2/modular_olmo2.py, which others inherit.
#pragma once

#include "family/parts/llama_layer.h"

namespace memtape::family {

template <class Attention, class Norm, class Mlp = LlamaMLP>
class PostNormDecoderLayer
    : public nn::GradientCheckpointingLayer<PostNormDecoderLayer<Attention, Norm, Mlp>> {
 public:
  template <class Settings>
  PostNormDecoderLayer(const nn::Scope& scope, const Settings& c, nn::ListIndex layer)
      : nn::GradientCheckpointingLayer<PostNormDecoderLayer>(scope),
        self_attn_(layer_part<Attention>(scope / "self_attn", c, layer)),
        mlp_(scope / "mlp", c),
        post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size),
        post_feedforward_layernorm_(scope / "post_feedforward_layernorm", c.hidden_size) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    Tensor residual = x;
    Tensor hidden_states = self_attn_(x, attention_mask, position_embeddings);
    hidden_states = post_attention_layernorm_(hidden_states);
    hidden_states = residual.add(hidden_states);

    residual = hidden_states;
    hidden_states = mlp_(hidden_states);
    hidden_states = post_feedforward_layernorm_(hidden_states);
    return residual.add(hidden_states);
  }

 private:
  Attention self_attn_;
  Mlp mlp_;
  Norm post_attention_layernorm_, post_feedforward_layernorm_;
};

}  // namespace memtape::family
