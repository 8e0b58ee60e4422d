// SPDX-License-Identifier: Apache-2.0
// XGLM: a decoder with scaled embeddings and a fixed table of sines, attention by batched products
// with a floor below masked scores, no fused kernel; mirroring transformers 5.17
// models/xglm/modeling_xglm.py.
#include <tuple>
#include <utility>

#include "family/facts.h"
#include "family/losses/loss.h"
#include "family/masks/masking.h"
#include "family/masks/padding_check.h"
#include "family/masks/update_causal_mask.h"
#include "family/parts/activations.h"
#include "family/parts/config_checks.h"
#include "family/parts/fairseq_positions.h"
#include "family/parts/forward_arguments.h"
#include "ghost/autocast.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/extremes.h"
#include "ghost/ops/reductions.h"
#include "nn/checkpointing.h"
#include "nn/layer_stack.h"
#include "nn/layers.h"
#include "release/encoder_changes.h"
#include "release/transformers_changes.h"

namespace memtape::family {
namespace {

struct XGLMConfig {
  explicit XGLMConfig(const Config& c)
      : vocab_size(c.dimension("vocab_size", 256008)),
        max_position_embeddings(c.dimension("max_position_embeddings", 2048)),
        d_model(c.dimension({"d_model", "hidden_size"}, 1024)),
        ffn_dim(c.dimension("ffn_dim", 4096)),
        num_layers(c.layers({"num_layers", "num_hidden_layers"}, 24)),
        attention_heads(c.dimension({"attention_heads", "num_attention_heads"}, 16)),
        activation_function(activation(c, "activation_function", "gelu")),
        dropout(c.number("dropout", 0.1)),
        attention_dropout(c.number("attention_dropout", 0.1)),
        activation_dropout(c.number("activation_dropout", 0.0)),
        tie_word_embeddings(c.boolean("tie_word_embeddings", true)) {
    check_divides(c, "attention_heads", attention_heads, d_model);
    if (c.number("layerdrop", 0.0) > 0.0)
      c.fail("layerdrop", "skips layers at random: memory is not determined");
    if (c.boolean("add_cross_attention", false))
      c.fail("add_cross_attention", "is not modelled, leave it out");
    if (d_model % 2 != 0) c.fail("d_model", "must be even");
  }

  std::int64_t vocab_size, max_position_embeddings, d_model, ffn_dim, num_layers, attention_heads;
  nn::Activation activation_function;
  double dropout, attention_dropout, activation_dropout;
  bool tie_word_embeddings;
};

/// Scaled in its own forward, so that a hook on its output sees what is scaled.
class XGLMScaledWordEmbedding : public nn::Embedding {
 public:
  using Embedding::Embedding;
  Tensor operator()(const Tensor& input_ids) {
    const bool wanted = std::exchange(output_requires_grad, false);
    Tensor scaled = nn::Embedding::operator()(input_ids).mul(ghost::kScale);
    output_requires_grad = wanted;
    if (wanted && !scaled.requires_grad()) scaled.impl().requires_grad = true;
    return scaled;
  }
};

class XGLMSinusoidalPositionalEmbedding : public nn::Module<XGLMSinusoidalPositionalEmbedding> {
 public:
  XGLMSinusoidalPositionalEmbedding(const nn::Scope& scope, const XGLMConfig& c)
      : Module(scope), weights_(get_embedding(c, scope.dtype())) {
    scope.buffer("weights", weights_);
  }

  /// _init_weights computes the table once more and copies it.
  void init_weights(const XGLMConfig& c) const {
    const Tensor again = get_embedding(c, weights_.dtype());
  }

  Tensor forward(const Tensor& given_ids) {
    const ghost::GradMode no_grad(false);
    const Tensor position_ids = given_ids.add(kOffset);
    const std::int64_t max_pos = kOffset + given_ids.size(1);
    if (max_pos > weights_.size(0)) grow_table(node(), weights_, max_pos);
    return select_positions(weights_, position_ids);
  }

 private:
  static constexpr int kOffset = 2;

  static Tensor get_embedding(const XGLMConfig& c, DType dtype) {
    return sinusoidal_table(c.max_position_embeddings + kOffset, c.d_model, dtype);
  }

  Tensor weights_;
};

class XGLMAttention : public nn::Module<XGLMAttention> {
 public:
  XGLMAttention(const nn::Scope& scope, const XGLMConfig& c)
      : Module(scope),
        num_heads_(c.attention_heads),
        head_dim_(c.d_model / c.attention_heads),
        dropout_(c.attention_dropout),
        k_proj_(scope / "k_proj", c.d_model, c.d_model),
        v_proj_(scope / "v_proj", c.d_model, c.d_model),
        q_proj_(scope / "q_proj", c.d_model, c.d_model),
        out_proj_(scope / "out_proj", c.d_model, c.d_model) {}

  /// The output, and the weights, which the layer holds until it returns.
  std::pair<Tensor, Tensor> forward(const Tensor& hidden_states, const Tensor& attention_mask) {
    const std::int64_t bsz = hidden_states.size(0), tgt_len = hidden_states.size(1);
    const Dims by_head{bsz, tgt_len, num_heads_, head_dim_};
    const Dims proj_shape{bsz * num_heads_, -1, head_dim_};
    Tensor query_states = q_proj_(hidden_states).mul(ghost::kScale);
    Tensor key_states = k_proj_(hidden_states);
    Tensor value_states = v_proj_(hidden_states);
    key_states = key_states.view(by_head).transpose(1, 2);
    value_states = value_states.view(by_head).transpose(1, 2);
    query_states = query_states.view(by_head).transpose(1, 2);
    query_states = query_states.reshape(proj_shape);
    key_states = key_states.reshape(proj_shape);
    value_states = value_states.reshape(proj_shape);
    Tensor attn_weights = weigh(query_states, key_states, attention_mask);
    const Tensor attn_probs = ghost::dropout(attn_weights, dropout_);
    Tensor attn_output = attn_probs.matmul(value_states);
    attn_output = attn_output.view({bsz, num_heads_, tgt_len, head_dim_});
    attn_output = attn_output.transpose(1, 2);
    attn_output = attn_output.reshape(hidden_states.sizes());
    attn_output = out_proj_(attn_output);
    return {std::move(attn_output), std::move(attn_weights)};
  }

 private:
  Tensor weigh(const Tensor& query_states, const Tensor& key_states,
               const Tensor& attention_mask) const {
    Tensor attn_weights = query_states.matmul(key_states.transpose(1, 2));
    const std::int64_t tgt_len = attn_weights.size(1), src_len = attn_weights.size(2);
    if (attention_mask.defined()) {
      attn_weights = attn_weights.view({-1, num_heads_, tgt_len, src_len}).add(attention_mask);
      const Tensor least = ghost::full({}, DType::float32);
      attn_weights = ghost::maximum(attn_weights, least);
      attn_weights = attn_weights.view({-1, tgt_len, src_len});
    }
    if (attn_weights.dtype() == DType::float16)
      return ghost::softmax(attn_weights, DType::float32).to(DType::float16);
    return ghost::softmax(attn_weights, ghost::reduction_dtype(attn_weights));
  }

  std::int64_t num_heads_, head_dim_;
  double dropout_;
  nn::Linear k_proj_, v_proj_, q_proj_, out_proj_;
};

class XGLMDecoderLayer : public nn::GradientCheckpointingLayer<XGLMDecoderLayer> {
 public:
  XGLMDecoderLayer(const nn::Scope& scope, const XGLMConfig& c)
      : GradientCheckpointingLayer(scope),
        dropout_(c.dropout),
        activation_dropout_(c.activation_dropout),
        activation_fn_(c.activation_function),
        self_attn_(scope / "self_attn", c),
        self_attn_layer_norm_(scope / "self_attn_layer_norm", c.d_model),
        fc1_(scope / "fc1", c.d_model, c.ffn_dim),
        fc2_(scope / "fc2", c.ffn_dim, c.d_model),
        final_layer_norm_(scope / "final_layer_norm", c.d_model) {}

  Tensor forward(const Tensor& x, const Tensor& attention_mask) {
    Tensor residual = x;
    Tensor hidden_states = self_attn_layer_norm_(x);
    Tensor attn_weights;
    std::tie(hidden_states, attn_weights) = self_attn_(hidden_states, attention_mask);
    hidden_states = ghost::dropout(hidden_states, dropout_);
    hidden_states = residual.add(hidden_states);

    residual = hidden_states;
    hidden_states = final_layer_norm_(hidden_states);
    hidden_states = activation_fn_(fc1_(hidden_states));
    hidden_states = ghost::dropout(hidden_states, activation_dropout_);
    hidden_states = fc2_(hidden_states);
    hidden_states = ghost::dropout(hidden_states, dropout_);
    return residual.add(hidden_states);
  }

 private:
  double dropout_, activation_dropout_;
  nn::Activation activation_fn_;
  XGLMAttention self_attn_;
  nn::LayerNorm self_attn_layer_norm_;
  nn::Linear fc1_, fc2_;
  nn::LayerNorm final_layer_norm_;
};

class XGLMForCausalLM : public PretrainedModel {
 public:
  XGLMForCausalLM(const XGLMConfig& c, const ModelOptions& options)
      : PretrainedModel(options),
        vocab_size_(c.vocab_size),
        dropout_(c.dropout),
        model_(root() / "model"),
        embed_tokens_(model_ / "embed_tokens", c.vocab_size, c.d_model),
        embed_positions_(model_ / "embed_positions", c),
        layers_(model_ / "layers", c.num_layers, c),
        layer_norm_(model_ / "layer_norm", c.d_model),
        lm_head_(finish_model(c) / "lm_head", c.d_model, c.vocab_size, false) {
    if (c.tie_word_embeddings) nn::tie(lm_head_, embed_tokens_.weight);
  }

  ModelOutput forward(const Batch& batch) override {
    const Tensor hidden_states = run_model(batch);
    Tensor logits = lm_head_(kept_for_logits(hidden_states, this->model_type));
    Tensor loss = causal_lm_loss(logits, batch, vocab_size_, this->model_type);
    return {std::move(loss), std::move(logits)};
  }

 private:
  nn::Scope finish_model(const XGLMConfig& c) {
    embed_positions_.init_weights(c);
    return root();
  }

  Tensor run_model(const Batch& batch) {
    if (!batch.attention_mask.defined() && !ghost::has(changes::kFairseqModelsCheckNoPadding))
      look_for_padding(batch.input_ids);
    const bool shares_masks = ghost::has(changes::kAllMasksAreShared);
    const auto counted = [&] {
      return ghost::arange(batch.input_ids.size(1), DType::int64).unsqueeze(0);
    };
    Tensor position_ids, attention_mask;
    if (!shares_masks) position_ids = counted();
    const Tensor inputs_embeds = embed_tokens_(batch.input_ids);
    if (!shares_masks) {
      attention_mask = prepare_4d_causal_attention_mask(batch.attention_mask, inputs_embeds);
    } else {
      attention_mask = create_causal_mask(
          {.attention = AttentionImplementation::eager, .attention_mask = batch.attention_mask},
          inputs_embeds, {});
      position_ids = counted();
    }
    Tensor hidden_states = inputs_embeds.add(embed_positions_(position_ids));
    hidden_states = ghost::dropout(hidden_states, dropout_);
    hidden_states = nn::run_layers(layers_, std::move(hidden_states), 1,
                                   [&](XGLMDecoderLayer& layer, std::size_t, const Tensor& x) {
                                     return layer(x, attention_mask);
                                   });
    return layer_norm_(hidden_states);
  }

  std::int64_t vocab_size_;
  double dropout_;
  nn::Scope model_;
  XGLMScaledWordEmbedding embed_tokens_;
  XGLMSinusoidalPositionalEmbedding embed_positions_;
  nn::ModuleList<XGLMDecoderLayer> layers_;
  nn::LayerNorm layer_norm_;
  nn::Linear lm_head_;
};

ModelPointer build_xglm(const Config& c, const ModelOptions& options) {
  return build_checked<XGLMForCausalLM>(c, XGLMConfig(c), options);
}

}  // namespace

extern const FamilyFacts kXglm{.model_type = "xglm",
                               .ties_head = Known::yes,
                               .has_bos = Known::yes,
                               .modeling = eager_only(kDecoder),
                               .build = build_xglm};

}  // namespace memtape::family
