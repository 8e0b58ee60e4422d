// SPDX-License-Identifier: Apache-2.0
#include "family/parts/bart_layers.h"

#include "family/parts/activations.h"
#include "family/parts/config_checks.h"
#include "ghost/autocast.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/unary.h"
#include "nn/layer_frame.h"
#include "release/encoder_changes.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {
namespace {

BartStack read_stack(const Config& c, const std::string& side, const BartStack& defaults,
                     std::int64_t d_model, double default_layerdrop) {
  const std::string heads = side + "_attention_heads";
  const BartStack stack{.layers = c.layers(side + "_layers", defaults.layers),
                        .attention_heads = c.dimension(heads, defaults.attention_heads),
                        .ffn_dim = c.dimension(side + "_ffn_dim", defaults.ffn_dim)};
  check_divides(c, heads.c_str(), stack.attention_heads, d_model);
  const std::string layerdrop = side + "_layerdrop";
  if (c.number(layerdrop, default_layerdrop) > 0.0)
    c.fail(layerdrop, "skips layers at random: memory is not determined");
  return stack;
}

/// `not torch.isfinite(hidden_states).all()`: (self == self) * (self.abs() != inf), the second
/// factor first.
/// What is neither infinite nor no number is not clamped.
void look_for_infinities(const Tensor& hidden_states) {
  if (!ghost::has(changes::kBartAsksForFiniteOnes)) {
    {
      const Tensor is_infinite = ghost::eq(ghost::abs(hidden_states), ghost::kInfinity);
      const Tensor any_infinite = ghost::any(is_infinite);
    }
    const Tensor is_no_number = ghost::ne(hidden_states, hidden_states);
    const Tensor any = ghost::any(is_no_number);
    return;
  }
  Tensor is_finite;
  {
    const Tensor size = ghost::abs(hidden_states);
    const Tensor is_small = ghost::ne(size, ghost::kInfinity);
    const Tensor is_number = ghost::eq(hidden_states, hidden_states);
    is_finite = is_number.mul(is_small);
  }
  const Tensor all = ghost::all(is_finite);
}

/// One branch of a layer: its norm before it or after the sum.
template <class Branch>
Tensor residual_branch(const Tensor& x, nn::LayerNorm& norm, const BartLayerConfig& c,
                       const Branch& branch) {
  Tensor hidden_states = x;
  if (c.norms_first) hidden_states = norm(hidden_states);
  branch(hidden_states);
  hidden_states = ghost::dropout(hidden_states, c.dropout);
  hidden_states = x.add(hidden_states);
  if (!c.norms_first) hidden_states = norm(hidden_states);
  return hidden_states;
}

void feed_forward(Tensor& hidden_states, nn::Linear& fc1, nn::Linear& fc2,
                  const BartLayerConfig& c) {
  hidden_states = c.activation_function(fc1(hidden_states));
  hidden_states = ghost::dropout(hidden_states, c.activation_dropout);
  hidden_states = fc2(hidden_states);
}

}  // namespace

BartLayerConfig::BartLayerConfig(const Config& c, const ModelOptions& options,
                                 const BartDefaults& defaults)
    : d_model(c.dimension({"d_model", "hidden_size"}, defaults.d_model)),
      encoder(read_stack(c, "encoder", defaults.encoder, d_model, defaults.layerdrop)),
      decoder(read_stack(c, "decoder", defaults.decoder, d_model, defaults.layerdrop)),
      activation_function(activation(c, "activation_function", defaults.activation_function)),
      dropout(c.number("dropout", defaults.dropout)),
      attention_dropout(c.number("attention_dropout", defaults.attention_dropout)),
      activation_dropout(c.number("activation_dropout", 0.0)),
      attention(options.attention) {}

BartAttention::BartAttention(const nn::Scope& scope, const BartLayerConfig& c,
                             BartAttentionKind kind)
    : Module(scope),
      call_{.implementation = c.attention,
            .dropout = c.attention_dropout,
            .is_causal = kind == BartAttentionKind::decoder,
            .eager_softmax = EagerSoftmax::plain},
      is_whisper_(c.is_whisper),
      returns_key_values_(kind != BartAttentionKind::encoder),
      head_dim_(c.d_model /
                (kind == BartAttentionKind::encoder ? c.encoder : c.decoder).attention_heads),
      k_proj_(scope / "k_proj", c.d_model, c.d_model, !c.is_whisper),
      v_proj_(scope / "v_proj", c.d_model, c.d_model),
      q_proj_(scope / "q_proj", c.d_model, c.d_model),
      out_proj_(scope / "out_proj", c.d_model, c.d_model) {}

Tensor BartAttention::by_heads(const Tensor& projected) const {
  const Dims shape = projected.sizes().leading().with(-1).with(head_dim_);
  Tensor split = projected.view(shape).transpose(1, 2);
  const bool packs = is_whisper_ || !ghost::has(changes::kBartLeavesHeads);
  return packs ? std::move(split).contiguous() : split;
}

Tensor BartAttention::eager_products(const Tensor& query_states, const Tensor& key_states,
                                     const Tensor& value_states,
                                     const Tensor& attention_mask) const {
  const std::int64_t batch = query_states.size(0), heads = query_states.size(1);
  const auto in_rows = [&](const Tensor& x) {
    return x.reshape({batch * heads, x.size(2), x.size(3)});
  };
  const Tensor query = in_rows(query_states), key = in_rows(key_states),
               value = in_rows(value_states);
  Tensor attn_weights = ghost::bmm(query, key.transpose(1, 2));
  const Dims rows = attn_weights.sizes();
  if (attention_mask.defined()) {
    attn_weights = attn_weights.view({batch, heads, rows[1], rows[2]}).add(attention_mask);
    attn_weights = attn_weights.view(rows);
  }
  attn_weights = ghost::softmax(attn_weights, ghost::reduction_dtype(attn_weights));
  const Tensor attn_probs = ghost::dropout(attn_weights, call_.dropout);
  nn::LayerFrame::keep_attention_weights(attn_weights);
  return ghost::bmm(attn_probs, value).view({batch, heads, rows[1], head_dim_});
}

Tensor BartAttention::written_out(const Tensor& hidden_states, const Tensor& current_states,
                                  const Tensor& attention_mask) {
  const bool is_eager = call_.implementation == AttentionImplementation::eager;
  const bool packs = !ghost::has(changes::kBartLeavesHeads);
  Tensor query_states = q_proj_(hidden_states);
  if (!packs) query_states = by_heads(query_states);
  if (is_eager) query_states = query_states.mul(ghost::kScale);
  Tensor key_states, value_states;
  if (packs) {
    key_states = by_heads(k_proj_(current_states));
    value_states = by_heads(v_proj_(current_states));
    if (returns_key_values_) nn::LayerFrame::keep_key_values(key_states, value_states);
    query_states = by_heads(query_states);
  } else {
    key_states = k_proj_(current_states);
    value_states = v_proj_(current_states);
    key_states = by_heads(key_states);
    value_states = by_heads(value_states);
  }
  Tensor attn_output =
      is_eager
          ? eager_products(query_states, key_states, value_states, attention_mask).transpose(1, 2)
          : written_out_attention(call_, query_states, key_states, value_states, attention_mask);
  attn_output = attn_output.reshape(hidden_states.sizes());
  attn_output = out_proj_(attn_output);
  nn::LayerFrame::keep_attention_weights({});
  return attn_output;
}

Tensor BartAttention::forward(const Tensor& hidden_states, const Tensor& key_value_states,
                              const Tensor& attention_mask) {
  const Dims input_shape = hidden_states.sizes().leading();
  const Tensor& current_states = key_value_states.defined() ? key_value_states : hidden_states;
  if (!is_whisper_ && !ghost::has(changes::kBartCallsTheInterface))
    return written_out(hidden_states, current_states, attention_mask);
  Tensor query = q_proj_(hidden_states);
  if (is_whisper_) query = query.mul(ghost::kScale);
  const Tensor query_states = by_heads(query);
  query.reset();
  const Tensor key_states = by_heads(k_proj_(current_states));
  const Tensor value_states = by_heads(v_proj_(current_states));
  Tensor attn_output =
      attention_interface(call_, query_states, key_states, value_states, attention_mask);
  attn_output = attn_output.reshape(input_shape.with(-1)).contiguous();
  attn_output = out_proj_(attn_output);
  return attn_output;
}

BartEncoderLayer::BartEncoderLayer(const nn::Scope& scope, const BartLayerConfig& c)
    : GradientCheckpointingLayer(scope),
      config_(c),
      self_attn_(scope / "self_attn", c, BartAttentionKind::encoder),
      self_attn_layer_norm_(scope / "self_attn_layer_norm", c.d_model),
      fc1_(scope / "fc1", c.d_model, c.encoder.ffn_dim),
      fc2_(scope / "fc2", c.encoder.ffn_dim, c.d_model),
      final_layer_norm_(scope / "final_layer_norm", c.d_model) {}

Tensor BartEncoderLayer::forward(const Tensor& x, const Tensor& attention_mask) {
  const auto attend = [&](Tensor& hidden_states) {
    hidden_states = self_attn_(hidden_states, Tensor(), attention_mask);
  };
  const auto feed = [&](Tensor& hidden_states) {
    feed_forward(hidden_states, fc1_, fc2_, config_);
  };
  const Tensor residual = residual_branch(x, self_attn_layer_norm_, config_, attend);
  Tensor hidden_states = residual_branch(residual, final_layer_norm_, config_, feed);
  if (hidden_states.dtype() != DType::float16) return hidden_states;
  if (!config_.norms_first)
    look_for_infinities(hidden_states);
  else
    hidden_states = ghost::clamp(hidden_states, {.min = -ghost::kLimit, .max = ghost::kLimit});
  return hidden_states;
}

BartDecoderLayer::BartDecoderLayer(const nn::Scope& scope, const BartLayerConfig& c)
    : LayerOfSeveralInputs(scope),
      config_(c),
      self_attn_(scope / "self_attn", c, BartAttentionKind::decoder),
      self_attn_layer_norm_(scope / "self_attn_layer_norm", c.d_model),
      encoder_attn_(scope / "encoder_attn", c, BartAttentionKind::cross),
      encoder_attn_layer_norm_(scope / "encoder_attn_layer_norm", c.d_model),
      fc1_(scope / "fc1", c.d_model, c.decoder.ffn_dim),
      fc2_(scope / "fc2", c.decoder.ffn_dim, c.d_model),
      final_layer_norm_(scope / "final_layer_norm", c.d_model) {}

Tensor BartDecoderLayer::forward(const Tensor& x, const Tensor& attention_mask,
                                 const Tensor& encoder_hidden_states,
                                 const Tensor& encoder_attention_mask, const Tensor&) {
  const auto attend = [&](Tensor& hidden_states) {
    hidden_states = self_attn_(hidden_states, Tensor(), attention_mask);
  };
  Tensor weights_of_self_attn;
  const auto attend_to_encoder = [&](Tensor& hidden_states) {
    weights_of_self_attn = nn::LayerFrame::kept_attention_weights();
    hidden_states = encoder_attn_(hidden_states, encoder_hidden_states, encoder_attention_mask);
    if (ghost::has(changes::kBartDropsSelfAttention)) weights_of_self_attn.reset();
  };
  const auto feed = [&](Tensor& hidden_states) {
    feed_forward(hidden_states, fc1_, fc2_, config_);
  };
  Tensor residual = residual_branch(x, self_attn_layer_norm_, config_, attend);
  residual = residual_branch(residual, encoder_attn_layer_norm_, config_, attend_to_encoder);
  return residual_branch(residual, final_layer_norm_, config_, feed);
}

}  // namespace memtape::family
