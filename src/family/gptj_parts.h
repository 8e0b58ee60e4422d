// SPDX-License-Identifier: Apache-2.0
// What GPT-J and CodeGen have in common: a table of sines and cosines in every layer, neighbours of
// a part of each head rotated, attention and MLP side by side; mirroring transformers 5.17
// models/gptj/modeling_gptj.py. Attention is made with (scope, settings), gives a GPTJOutput and
// computes its table again in init_weights.
#pragma once

#include "family/forward_arguments.h"
#include "family/masking.h"
#include "nn/activations.h"
#include "nn/checkpointing.h"
#include "nn/layers.h"

namespace memtape::family {

struct GPTJConfig {
  explicit GPTJConfig(const Config& c);

  std::int64_t vocab_size, n_positions, n_embd, n_layer, n_head, n_inner, head_dim, rotary_dim;
  nn::Activation activation_function;
  double resid_pdrop, embd_pdrop, attn_pdrop;
  bool tie_word_embeddings;
};

/// A layer's output, and the attention weights that the model's loop holds until the next layer is
/// done.
struct GPTJOutput {
  Tensor hidden_states, attn_weights;
};

/// [num_pos, dim] float32. What is divided without a dtype of its own is made in the model's.
Tensor create_sinusoidal_positions(std::int64_t num_pos, std::int64_t dim, DType model_dtype);

/// k_rot, k_pass, q_rot and q_pass, which the frame holds on to.
struct GPTJParts {
  Tensor k_rot, k_pass, q_rot, q_pass;
};

/// Rotates the first `dim` elements of each head of [B, S, H, D].
GPTJParts rotate_gptj_heads(Tensor& query, Tensor& key, const std::vector<Tensor>& sin_and_cos,
                            std::int64_t dim);

class GPTJMLP : public nn::Module<GPTJMLP> {
 public:
  GPTJMLP(const nn::Scope& scope, const GPTJConfig& c);
  Tensor forward(const Tensor& x);

 private:
  nn::Linear fc_in_, fc_out_;
  nn::Activation act_;
  nn::Dropout dropout_;
};

/// Attention and MLP side by side.
template <class Attention>
class GPTJBlock : public nn::GradientCheckpointingLayer<GPTJBlock<Attention>> {
 public:
  GPTJBlock(const nn::Scope& scope, const GPTJConfig& c)
      : nn::GradientCheckpointingLayer<GPTJBlock>(scope),
        ln_1_(scope / "ln_1", c.n_embd),
        attn_(scope / "attn", c),
        mlp_(scope / "mlp", c) {}

  GPTJOutput forward(const Tensor& residual, const Tensor& attention_mask,
                     const Tensor& position_ids) {
    const Tensor hidden_states = ln_1_(residual);
    const GPTJOutput attn = attn_(hidden_states, attention_mask, position_ids);
    const Tensor feed_forward_hidden_states = mlp_(hidden_states);
    return {attn.hidden_states.add(feed_forward_hidden_states).add(residual), attn.attn_weights};
  }

  void init_weights() const { attn_.init_weights(); }

 private:
  nn::LayerNorm ln_1_;
  Attention attn_;
  GPTJMLP mlp_;
};

template <class Attention>
class GPTJModel : public nn::Module<GPTJModel<Attention>> {
 public:
  GPTJModel(const nn::Scope& scope, const GPTJConfig& c)
      : nn::Module<GPTJModel>(scope),
        wte(scope / "wte", c.vocab_size, c.n_embd),
        drop_(scope / "drop", c.embd_pdrop),
        h_(scope / "h", c.n_layer, c),
        ln_f_(scope / "ln_f", c.n_embd) {
    for (const GPTJBlock<Attention>& block : h_) block.init_weights();
  }

  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask) {
    const Tensor inputs_embeds = wte(input_ids);
    const Tensor position_ids = position_ids_for(inputs_embeds);
    const Tensor causal_mask = create_causal_mask(
        {.attention = AttentionImplementation::eager, .attention_mask = attention_mask},
        inputs_embeds, position_ids);
    Tensor hidden_states = drop_(inputs_embeds);
    GPTJOutput outputs;
    for (GPTJBlock<Attention>& block : h_) {
      outputs = block(hidden_states, causal_mask, position_ids);
      hidden_states = outputs.hidden_states;
    }
    hidden_states = ln_f_(hidden_states);
    return hidden_states.view(hidden_states.sizes());
  }

  const nn::Embedding& get_input_embeddings() const { return wte; }

  nn::Embedding wte;

 private:
  nn::Dropout drop_;
  nn::ModuleList<GPTJBlock<Attention>> h_;
  nn::LayerNorm ln_f_;
};

}  // namespace memtape::family
