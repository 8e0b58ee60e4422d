// SPDX-License-Identifier: Apache-2.0
// What GPT-J and CodeGen have in common: a table of sines and cosines (one in every layer until
// kGptJCallsTheInterface), neighbours of a part of each head rotated, attention and MLP side by
// side; mirroring transformers 5.17 and 5.24 models/gptj/modeling_gptj.py. Their attentions differ
// in what a family names:
//
//   struct GPTJProjections {
//     GPTJProjections(scope, settings);
//     static constexpr bool kMasksFirst = false;   // before the scores are divided
//     static constexpr bool kRotatesInFloat32 = false;   // since kGptJCallsTheInterface
//     static constexpr bool kFollowsOutput = false;      // made behind out_proj since then
//     GPTJHeads operator()(hidden_states);
//     static GPTJSinCos sincos(embed_positions, position_ids, dtype);   // out of the table
//   };
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "family/masks/masking.h"
#include "family/parts/forward_arguments.h"
#include "ghost/autocast.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "nn/activations.h"
#include "nn/checkpointing.h"
#include "nn/layers.h"
#include "release/family_changes.h"
#include "release/transformers_4_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {

struct GPTJConfig {
  GPTJConfig(const Config& c, const ModelOptions& options);

  std::int64_t vocab_size, n_positions, n_embd, n_layer, n_head, n_inner, head_dim, rotary_dim;
  nn::Activation activation_function;
  double resid_pdrop, embd_pdrop, attn_pdrop;
  bool tie_word_embeddings;
  AttentionImplementation attention;  ///< eager before kGptJCallsTheInterface
};

/// The output of a layer, and the attention weights that the model's loop keeps alive until the
/// next layer is done.
struct GPTJOutput {
  Tensor hidden_states, attn_weights;
};

/// Returns [num_pos, dim] in float32. A quotient without a dtype of its own is made in the model's
/// dtype.
Tensor create_sinusoidal_positions(std::int64_t num_pos, std::int64_t dim, DType model_dtype);

/// The root of a head's size, made in float32, in the model's dtype.
Tensor made_scale_attn(DType model_dtype);

/// GPTJRotaryEmbedding: one table for all layers, of which each step takes the rows it needs.
class GPTJRotaryEmbedding : public nn::Module<GPTJRotaryEmbedding> {
 public:
  GPTJRotaryEmbedding(const nn::Scope& scope, const GPTJConfig& c);
  /// sin and cos, in `dtype` if there is one.
  std::vector<Tensor> forward(const Tensor& position_ids, std::optional<DType> dtype);
  void init_weights() const;

 private:
  std::int64_t n_positions_, rotary_dim_;
  DType model_dtype_;
  Tensor embed_positions_;
};

/// The attention function that the configuration names, since kGptJCallsTheInterface.
Tensor gptj_attention(const GPTJConfig& config, const Tensor& query, const Tensor& key,
                      const Tensor& value, const Tensor& attention_mask);

/// k_rot, k_pass, q_rot and q_pass, which the frame keeps alive.
struct GPTJParts {
  Tensor k_rot, k_pass, q_rot, q_pass;
};

/// Rotates the first `dim` elements of each head of [B, S, H, D].
GPTJParts rotate_gptj_heads(Tensor& query, Tensor& key, const std::vector<Tensor>& sin_and_cos,
                            std::int64_t dim);

/// [B, S, H, D] each, and what else the frame of forward holds.
struct GPTJHeads {
  Tensor query, key, value;
  std::vector<Tensor> held = {};
};

/// [B, S, sines and cosines], and what else the frame of forward holds.
struct GPTJSinCos {
  Tensor sincos;
  std::vector<Tensor> held = {};
};

/// Where a step's tokens stand: by number, and since kGptJCallsTheInterface as sin and cos.
struct GPTJPositions {
  Tensor ids;
  std::vector<Tensor> sin_and_cos = {};
};

template <class Projections>
class GPTJAttention : public nn::Module<GPTJAttention<Projections>> {
 public:
  GPTJAttention(const nn::Scope& scope, const GPTJConfig& c)
      : nn::Module<GPTJAttention>(scope),
        config_(c),
        model_dtype_(scope.dtype()),
        attn_dropout_(scope / "attn_dropout", c.attn_pdrop),
        resid_dropout_(scope / "resid_dropout", c.resid_pdrop) {
    const bool calls_interface = ghost::has(changes::kGptJCallsTheInterface);
    const bool follows = Projections::kFollowsOutput && calls_interface;
    if (!follows) projections_.emplace(scope, c);
    out_proj_.emplace(scope / "out_proj", c.n_embd, c.n_embd, false);
    if (follows) projections_.emplace(scope, c);
    if (calls_interface) return;
    const ghost::ScopeGuard guard(this->node().scope);
    if (!ghost::has(changes::kGptJScalesByNumber)) scale_attn_ = made_scale_attn(model_dtype_);
    embed_positions_ = create_sinusoidal_positions(c.n_positions, c.rotary_dim, model_dtype_);
    scope.buffer("embed_positions", embed_positions_);
  }

  /// _init_weights computes the table once more and copies it.
  void init_weights() const {
    if (!embed_positions_.defined()) return;
    const ghost::ScopeGuard guard(this->node().scope);
    create_sinusoidal_positions(config_.n_positions, config_.rotary_dim, model_dtype_);
  }

  GPTJOutput forward(const Tensor& hidden_states, const Tensor& attention_mask,
                     const GPTJPositions& positions) {
    return positions.sin_and_cos.empty()
               ? written_out(hidden_states, attention_mask, positions.ids)
               : by_interface(hidden_states, attention_mask, positions.sin_and_cos);
  }

 private:
  /// The last lines of forward, whose frame still holds the heads and what rotated them.
  void project_out(Tensor& attn_output) {
    attn_output = (*out_proj_)(attn_output);
    attn_output = resid_dropout_(attn_output);
  }

  GPTJOutput by_interface(const Tensor& hidden_states, const Tensor& attention_mask,
                          const std::vector<Tensor>& sin_and_cos) {
    GPTJHeads heads = (*projections_)(hidden_states);
    auto& [query, key, value, held] = heads;
    value = value.transpose(1, 2);
    const GPTJParts rotated = rotate_gptj_heads(query, key, sin_and_cos, config_.rotary_dim);
    for (Tensor* states : {&query, &key}) {
      *states = states->transpose(1, 2);
      if (Projections::kRotatesInFloat32) *states = states->to(value.dtype());
    }
    const Dims input_shape = hidden_states.sizes().leading();
    Tensor attn_output = gptj_attention(config_, query, key, value, attention_mask)
                             .reshape(input_shape.with(-1))
                             .contiguous();
    project_out(attn_output);
    return {std::move(attn_output), {}};
  }

  GPTJOutput written_out(const Tensor& hidden_states, const Tensor& attention_mask,
                         const Tensor& position_ids) {
    GPTJHeads heads = (*projections_)(hidden_states);
    auto& [query, key, value, held] = heads;
    value = value.permute({0, 2, 1, 3});
    const GPTJSinCos positions = Projections::sincos(embed_positions_, position_ids, key.dtype());
    const GPTJParts rotated =
        rotate_gptj_heads(query, key, positions.sincos.chunk(2, -1), config_.rotary_dim);
    key = key.permute({0, 2, 1, 3});
    query = query.permute({0, 2, 1, 3});
    GPTJOutput attn = attend(query, key, value, attention_mask);
    attn.hidden_states =
        attn.hidden_states.permute({0, 2, 1, 3}).contiguous().view(hidden_states.sizes());
    project_out(attn.hidden_states);
    if (!ghost::has(changes::kBlocksReturnWeights)) attn.attn_weights.reset();
    return attn;
  }

  static void add_first(Tensor& attn_weights, const Tensor& attention_mask) {
    if (ghost::has(changes::kCodegenAddsItsMask))
      attn_weights = attn_weights.add(attention_mask);
    else
      ghost::add_(attn_weights, attention_mask);
  }

  /// _attn: the scores in float32.
  GPTJOutput attend(const Tensor& query_states, const Tensor& key_states, const Tensor& value,
                    const Tensor& attention_mask) {
    const bool masks = attention_mask.defined();
    const Tensor query = query_states.to_float();
    const Tensor key = key_states.to_float();
    Tensor attn_weights = query.matmul(key.transpose(-1, -2));
    if (masks && Projections::kMasksFirst) add_first(attn_weights, attention_mask);
    attn_weights = attn_weights.div(2.0);
    if (masks && !Projections::kMasksFirst) attn_weights = attn_weights.add(attention_mask);
    attn_weights = ghost::softmax(attn_weights, ghost::reduction_dtype(attn_weights));
    attn_weights = attn_weights.to(value.dtype());
    attn_weights = attn_dropout_(attn_weights);
    Tensor attn_output = attn_weights.matmul(value);
    return {std::move(attn_output), std::move(attn_weights)};
  }

  GPTJConfig config_;
  DType model_dtype_;
  nn::Dropout attn_dropout_, resid_dropout_;
  std::optional<Projections> projections_;
  std::optional<nn::Linear> out_proj_;
  Tensor embed_positions_, scale_attn_;
};

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
template <class Projections>
class GPTJBlock : public nn::GradientCheckpointingLayer<GPTJBlock<Projections>> {
 public:
  GPTJBlock(const nn::Scope& scope, const GPTJConfig& c)
      : nn::GradientCheckpointingLayer<GPTJBlock>(scope),
        ln_1_(scope / "ln_1", c.n_embd),
        attn_(scope / "attn", c),
        mlp_(scope / "mlp", c) {}

  GPTJOutput forward(const Tensor& residual, const Tensor& attention_mask,
                     const GPTJPositions& positions) {
    const Tensor hidden_states = ln_1_(residual);
    const GPTJOutput attn = attn_(hidden_states, attention_mask, positions);
    const Tensor feed_forward_hidden_states = mlp_(hidden_states);
    return {attn.hidden_states.add(feed_forward_hidden_states).add(residual), attn.attn_weights};
  }

  void init_weights() const { attn_.init_weights(); }

 private:
  nn::LayerNorm ln_1_;
  GPTJAttention<Projections> attn_;
  GPTJMLP mlp_;
};

template <class Projections>
class GPTJModel : public nn::Module<GPTJModel<Projections>> {
 public:
  static constexpr const Change& kCastsLossUntil = changes::kGptJLeavesItsLoss;

  GPTJModel(const nn::Scope& scope, const GPTJConfig& c)
      : nn::Module<GPTJModel>(scope),
        wte(scope / "wte", c.vocab_size, c.n_embd),
        drop_(scope / "drop", c.embd_pdrop),
        h_(scope / "h", c.n_layer, c),
        ln_f_(scope / "ln_f", c.n_embd),
        attention_(c.attention) {
    if (ghost::has(changes::kGptJCallsTheInterface)) rotary_emb_.emplace(scope / "rotary_emb", c);
    for (const GPTJBlock<Projections>& block : h_) block.init_weights();
    if (rotary_emb_) rotary_emb_->init_weights();
  }

  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask) {
    const Tensor inputs_embeds = wte(input_ids);
    GPTJPositions positions{.ids = position_ids_for(inputs_embeds)};
    const Tensor causal_mask = create_causal_mask({.attention = attention_,
                                                   .attention_mask = attention_mask,
                                                   .shared_since = changes::kAllMasksAreShared},
                                                  inputs_embeds, positions.ids);
    Tensor hidden_states = drop_(inputs_embeds);
    if (rotary_emb_)
      positions.sin_and_cos = (*rotary_emb_)(
          positions.ids,
          Projections::kRotatesInFloat32 ? std::nullopt : std::optional(hidden_states.dtype()));
    GPTJOutput outputs;
    for (GPTJBlock<Projections>& block : h_) {
      outputs = block(hidden_states, causal_mask, positions);
      hidden_states = outputs.hidden_states;
    }
    hidden_states = ln_f_(hidden_states);
    return rotary_emb_ ? hidden_states : hidden_states.view(hidden_states.sizes());
  }

  const nn::Embedding& get_input_embeddings() const { return wte; }

  nn::Embedding wte;

 private:
  nn::Dropout drop_;
  nn::ModuleList<GPTJBlock<Projections>> h_;
  nn::LayerNorm ln_f_;
  std::optional<GPTJRotaryEmbedding> rotary_emb_;
  AttentionImplementation attention_;
};

}  // namespace memtape::family
