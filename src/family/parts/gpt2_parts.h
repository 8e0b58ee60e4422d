// SPDX-License-Identifier: Apache-2.0
// What GPT-2 shares with those that copy it: settings, MLP and block, mirroring transformers 5.17
// models/gpt2/modeling_gpt2.py. GPT-Neo and GPTBigCode have linear layers where GPT-2 has Conv1D.
#pragma once

#include <type_traits>

#include "family/parts/activations.h"
#include "family/parts/config_checks.h"
#include "family/pretrained.h"
#include "nn/checkpointing.h"
#include "nn/layers.h"

namespace memtape::family {

/// The keys of GPT2Config that GPTBigCodeConfig has, too.
struct GPT2Settings {
  GPT2Settings(const Config& c, const ModelOptions& options, const char* activation_function_)
      : vocab_size(c.dimension("vocab_size", 50257)),
        max_position_embeddings(c.dimension({"max_position_embeddings", "n_positions"}, 1024)),
        hidden_size(c.dimension({"hidden_size", "n_embd"}, 768)),
        num_hidden_layers(c.layers({"num_hidden_layers", "n_layer"}, 12)),
        num_attention_heads(c.dimension({"num_attention_heads", "n_head"}, 12)),
        inner_dim(c.optional_dimension("n_inner").value_or(4 * hidden_size)),
        activation_function(activation(c, "activation_function", activation_function_)),
        resid_pdrop(c.number("resid_pdrop", 0.1)),
        embd_pdrop(c.number("embd_pdrop", 0.1)),
        attn_pdrop(c.number("attn_pdrop", 0.1)),
        tie_word_embeddings(c.boolean("tie_word_embeddings", true)),
        attention(options.attention) {
    check_divides(c, "n_head", num_attention_heads, hidden_size);
    if (c.boolean("add_cross_attention", false)) c.fail("add_cross_attention", "is not modelled");
  }

  std::int64_t head_dim() const { return hidden_size / num_attention_heads; }

  std::int64_t vocab_size, max_position_embeddings, hidden_size, num_hidden_layers,
      num_attention_heads, inner_dim;
  nn::Activation activation_function;
  double resid_pdrop, embd_pdrop, attn_pdrop;
  bool tie_word_embeddings;
  AttentionImplementation attention;
};

template <class Projection>
class GPT2MLP : public nn::Module<GPT2MLP<Projection>> {
 public:
  GPT2MLP(const nn::Scope& scope, const GPT2Settings& c)
      : GPT2MLP(scope, c.hidden_size, c.inner_dim, c.activation_function, c.resid_pdrop) {}
  GPT2MLP(const nn::Scope& scope, std::int64_t hidden_size, std::int64_t inner_dim,
          const nn::Activation& act, double dropout)
      : nn::Module<GPT2MLP>(scope),
        c_fc_(projection(scope / "c_fc", hidden_size, inner_dim)),
        c_proj_(projection(scope / "c_proj", inner_dim, hidden_size)),
        act_(act),
        dropout_(scope / "dropout", dropout) {}

  Tensor forward(const Tensor& x) {
    Tensor hidden_states = c_fc_(x);
    hidden_states = act_(hidden_states);
    hidden_states = c_proj_(hidden_states);
    hidden_states = dropout_(hidden_states);
    return hidden_states;
  }

 private:
  /// Makes a Conv1D, which takes its sizes in the opposite order.
  static Projection projection(const nn::Scope& scope, std::int64_t in, std::int64_t out) {
    if constexpr (std::is_same_v<Projection, nn::Conv1D>)
      return Projection(scope, out, in);
    else
      return Projection(scope, in, out);
  }

  Projection c_fc_, c_proj_;
  nn::Activation act_;
  nn::Dropout dropout_;
};

template <class Attention, class Mlp>
class GPT2BlockOf : public nn::GradientCheckpointingLayer<GPT2BlockOf<Attention, Mlp>> {
 public:
  template <class Settings>
  GPT2BlockOf(const nn::Scope& scope, const Settings& c, nn::ListIndex layer_idx)
      : nn::GradientCheckpointingLayer<GPT2BlockOf>(scope),
        ln_1_(scope / "ln_1", c.hidden_size),
        attn_(scope / "attn", c, layer_idx),
        ln_2_(scope / "ln_2", c.hidden_size),
        mlp_(scope / "mlp", c) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask, const Tensor&) {
    Tensor residual = x;
    Tensor hidden_states = ln_1_(x);
    const Tensor attn_output = attn_(hidden_states, attention_mask);
    hidden_states = attn_output.add(residual);

    residual = hidden_states;
    hidden_states = ln_2_(hidden_states);
    const Tensor feed_forward_hidden_states = mlp_(hidden_states);
    return residual.add(feed_forward_hidden_states);
  }

 private:
  nn::LayerNorm ln_1_;
  Attention attn_;
  nn::LayerNorm ln_2_;
  Mlp mlp_;
};

}  // namespace memtape::family
