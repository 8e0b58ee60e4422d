// SPDX-License-Identifier: Apache-2.0
#include "family/parts/t5_layers.h"

#include "ghost/ops/pointwise.h"

namespace memtape::family {

T5LayerNorm::T5LayerNorm(const nn::Scope& scope, std::int64_t hidden_size)
    : Module(scope), weight_(scope.parameter("weight", {hidden_size})) {}

Tensor T5LayerNorm::forward(const Tensor& x) {
  const Tensor variance = x.to_float().pow(2).mean(-1, true);
  Tensor hidden_states = x.mul(ghost::rsqrt(variance.add(1e-6)));
  if (weight_.dtype() != DType::float32) hidden_states = hidden_states.to(weight_.dtype());
  return weight_.mul(hidden_states);
}

T5Dense::T5Dense(const nn::Scope& scope, const T5Config& c)
    : Module(scope),
      wi_(scope / (c.is_gated_act ? "wi_0" : "wi"), c.d_model, c.d_ff, false),
      wi_1_(c.is_gated_act ? std::make_unique<nn::Linear>(scope / "wi_1", c.d_model, c.d_ff, false)
                           : nullptr),
      wo_(scope / "wo", c.d_ff, c.d_model, false),
      dropout_(scope / "dropout", c.dropout_rate),
      act_(c.dense_act_fn) {}

Tensor T5Dense::forward(const Tensor& x) {
  Tensor hidden_gelu, hidden_linear, hidden_states;
  if (wi_1_) {
    hidden_gelu = act_(wi_(x));
    hidden_linear = (*wi_1_)(x);
    hidden_states = hidden_gelu.mul(hidden_linear);
  } else {
    hidden_states = wi_(x);
    hidden_states = act_(hidden_states);
  }
  hidden_states = dropout_(hidden_states);
  hidden_states = hidden_states.to(wo_.weight.dtype());
  hidden_states = wo_(hidden_states);
  return hidden_states;
}

T5LayerFF::T5LayerFF(const nn::Scope& scope, const T5Config& c)
    : Module(scope),
      dense_relu_dense_(scope / "DenseReluDense", c),
      layer_norm_(scope / "layer_norm", c.d_model),
      dropout_(scope / "dropout", c.dropout_rate) {}

Tensor T5LayerFF::forward(const Tensor& hidden_states) {
  Tensor forwarded_states = layer_norm_(hidden_states);
  forwarded_states = dense_relu_dense_(forwarded_states);
  return hidden_states.add(dropout_(forwarded_states));
}

T5LayerAttention::T5LayerAttention(const nn::Scope& scope, const T5Config& c, T5AttentionKind kind,
                                   bool has_relative_attention_bias)
    : Module(scope),
      attention_(scope / (kind == T5AttentionKind::cross ? "EncDecAttention" : "SelfAttention"), c,
                 kind, has_relative_attention_bias),
      layer_norm_(scope / "layer_norm", c.d_model),
      dropout_(scope / "dropout", c.dropout_rate) {}

T5AttentionOutput T5LayerAttention::forward(const Tensor& hidden_states,
                                            const Tensor& attention_mask,
                                            const Tensor& key_value_states,
                                            const Tensor& position_bias,
                                            const Tensor& cache_position) {
  const Tensor normed_hidden_states = layer_norm_(hidden_states);
  T5AttentionOutput out = attention_(normed_hidden_states, attention_mask, key_value_states,
                                     position_bias, cache_position);
  out.attn_output = hidden_states.add(dropout_(out.attn_output));
  return out;
}

}  // namespace memtape::family
