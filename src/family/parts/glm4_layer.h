// SPDX-License-Identifier: Apache-2.0
// GLM 4's layer: norms before and behind attention and MLP, gate and up in one projection unless a
// model brings an MLP of its own (Kolibri 1);
// mirroring transformers 5.17 models/glm4/modular_glm4.py.
#pragma once

#include "family/parts/llama_layer.h"
#include "family/parts/phi3_mlp.h"

namespace memtape::family {

template <class Attention, class Mlp = Phi3MLP>
class Glm4DecoderLayer : public nn::GradientCheckpointingLayer<Glm4DecoderLayer<Attention, Mlp>> {
 public:
  template <class Settings>
  Glm4DecoderLayer(const nn::Scope& scope, const Settings& c, nn::ListIndex layer)
      : nn::GradientCheckpointingLayer<Glm4DecoderLayer>(scope),
        self_attn_(scope / "self_attn", c, layer),
        mlp_(scope / "mlp", c),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size),
        post_self_attn_layernorm_(scope / "post_self_attn_layernorm", c.hidden_size),
        post_mlp_layernorm_(scope / "post_mlp_layernorm", c.hidden_size) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    Tensor residual = x;
    Tensor hidden_states = input_layernorm_(x);
    hidden_states = self_attn_(hidden_states, attention_mask, position_embeddings);
    hidden_states = post_self_attn_layernorm_(hidden_states);
    hidden_states = residual.add(hidden_states);

    residual = hidden_states;
    hidden_states = post_attention_layernorm_(hidden_states);
    hidden_states = mlp_(hidden_states);
    hidden_states = post_mlp_layernorm_(hidden_states);
    return residual.add(hidden_states);
  }

 private:
  Attention self_attn_;
  Mlp mlp_;
  LlamaRMSNorm input_layernorm_, post_attention_layernorm_, post_self_attn_layernorm_,
      post_mlp_layernorm_;
};

}  // namespace memtape::family
