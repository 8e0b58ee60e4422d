// SPDX-License-Identifier: Apache-2.0
// The layer of models that have Gated DeltaNet in some layers and attention in the others
// (Qwen3NextDecoderLayer and Qwen3_5DecoderLayer of transformers 5.17).
#pragma once

#include <optional>

#include "family/parts/gated_delta_net.h"
#include "family/parts/llama_layer.h"

namespace memtape::family {

/// `Attention` is made with (scope, settings, layer), `Norm` with (scope, size); the settings have
/// is_linear(layer) and delta_net.
template <class Attention, class Mlp, class Norm>
class DeltaNetDecoderLayer
    : public nn::GradientCheckpointingLayer<DeltaNetDecoderLayer<Attention, Mlp, Norm>> {
 public:
  template <class Settings>
  DeltaNetDecoderLayer(const nn::Scope& scope, const Settings& c, nn::ListIndex layer)
      : nn::GradientCheckpointingLayer<DeltaNetDecoderLayer>(scope),
        linear_attn_(c.is_linear(layer) ? std::optional<GatedDeltaNet>(
                                              std::in_place, scope / "linear_attn", c.delta_net)
                                        : std::nullopt),
        self_attn_(c.is_linear(layer)
                       ? std::nullopt
                       : std::optional<Attention>(std::in_place, scope / "self_attn", c, layer)),
        mlp_(layer_part<Mlp>(scope / "mlp", c, layer)),
        input_layernorm_(scope / "input_layernorm", c.hidden_size),
        post_attention_layernorm_(scope / "post_attention_layernorm", c.hidden_size) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const CosSin& position_embeddings,
                 const Tensor&) {
    Tensor residual = x;
    Tensor hidden_states = input_layernorm_(x);
    hidden_states = linear_attn_
                        ? (*linear_attn_)(hidden_states)
                        : (*self_attn_)(hidden_states, attention_mask, position_embeddings);
    hidden_states = residual.add(hidden_states);

    residual = hidden_states;
    hidden_states = post_attention_layernorm_(hidden_states);
    hidden_states = mlp_(hidden_states);
    return residual.add(hidden_states);
  }

  void init_weights() const {
    if (linear_attn_) linear_attn_->init_weights();
  }

 private:
  std::optional<GatedDeltaNet> linear_attn_;
  std::optional<Attention> self_attn_;
  Mlp mlp_;
  Norm input_layernorm_, post_attention_layernorm_;
};

}  // namespace memtape::family
