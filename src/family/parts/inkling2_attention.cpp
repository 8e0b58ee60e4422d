// SPDX-License-Identifier: Apache-2.0
#include "family/parts/inkling2_attention.h"

#include <array>
#include <utility>

#include "family/caches/key_value_cache.h"
#include "family/parts/attention_calls.h"
#include "family/parts/put_into_float32.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/convolution.h"
#include "ghost/ops/dropout.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/logarithms.h"
#include "ghost/ops/padding.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/unary.h"
#include "ghost/ops/unfold.h"
#include "ghost/ops/views.h"
#include "nn/layer_frame.h"

namespace memtape::family {
namespace {

/// Inkling2L2Clip: heads that are longer than a threshold are cut to it.
Tensor l2_clip(const Tensor& x) {
  const Tensor hidden_states = x.to_float();
  const Tensor norm = ghost::vector_norm(hidden_states, -1);
  return hidden_states.mul(ghost::clamp(ghost::rdiv(8.0, norm.add(1e-6)), {.max = 1.0}))
      .to(x.dtype());
}

/// Inkling2LogScale: queries far behind count for more.
Tensor log_scale(const Tensor& x, const Tensor& position_ids) {
  const Tensor scale =
      ghost::log(ghost::clamp(position_ids.add(1.0).to_float().div(2.0), {.min = 1.0}))
          .mul(2.0)
          .add(1.0);
  return x.to_float().mul(scale.unsqueeze(-1).unsqueeze(-1)).to(x.dtype());
}

/// causal_conv1d_fn, which under autocast convolves in half precision.
Tensor convolved(const Tensor& hidden_states, const Tensor& weight) {
  const Tensor out = ghost::depthwise_conv1d(hidden_states, weight.squeeze(1).unsqueeze(1), {},
                                             weight.size(-1) - 1)
                         .slice(-1, 0, hidden_states.size(-1));
  return out.to(hidden_states.dtype());
}

Dims by_head(const Tensor& states, std::int64_t head_dim) {
  return states.sizes().leading().with(-1).with(head_dim);
}

}  // namespace

Tensor Inkling2UnweightedRMSNorm::forward(const Tensor& x) {
  Tensor hidden_states = x.to_float();
  hidden_states = hidden_states.mul(ghost::rsqrt(hidden_states.pow(2).mean(-1, true).add(1e-6)));
  return hidden_states.to(x.dtype());
}

Inkling2ShortConvolution::Inkling2ShortConvolution(const nn::Scope& scope, std::int64_t hidden_size,
                                                   std::int64_t kernel)
    : Module(scope) {
  const std::array<NamedSizes, 1> wanted{{{"weight", {hidden_size, 1, kernel}}}};
  weight_ = parameters_put_into_float32(scope / "conv1d", wanted).front();
}

Tensor Inkling2ShortConvolution::forward(const Tensor& x) {
  Tensor hidden_states = x.to_float();
  const Tensor residual = hidden_states;
  hidden_states = hidden_states.transpose(1, 2);
  LinearLayer* const layer = KeyValueCache::linear_layer();
  if (layer) layer->update_conv_state(hidden_states, weight_.size(-1));
  hidden_states = convolved(hidden_states, weight_);
  if (layer)  // x[:, :, -seq_len:], a slice even of all
    hidden_states = ghost::strided_slice(hidden_states, -1, hidden_states.size(-1) - x.size(1), 1);
  hidden_states = hidden_states.transpose(1, 2);
  hidden_states = hidden_states.add(residual).div(2.0);
  return hidden_states.to(x.dtype());
}

Inkling2DynamicShortConvolution::Inkling2DynamicShortConvolution(const nn::Scope& scope,
                                                                 const Inkling2Config& c,
                                                                 const Inkling2Heads& heads)
    : Module(scope),
      num_heads_(heads.key_value),
      kernel_(c.conv_kernel),
      static_weight_(scope.parameter("static_weight", {kernel_, heads.key_value * heads.dim})),
      weight_proj_(scope / "weight_proj", c.hidden_size, num_heads_ * kernel_, false) {}

Tensor Inkling2DynamicShortConvolution::forward(const Tensor& x, const Tensor& dynamic_input) {
  const std::int64_t batch_size = x.size(0), seq_len = x.size(1);
  Tensor dynamic_weights = weight_proj_(dynamic_input).to_float();
  dynamic_weights = dynamic_weights.view({batch_size, seq_len, num_heads_, 1, kernel_});
  const Tensor weights = static_weight_.to_float()
                             .permute({1, 0})
                             .view({num_heads_, -1, kernel_})
                             .add(dynamic_weights);
  Tensor hidden_states = x.to_float();
  const Tensor residual = hidden_states;
  Tensor context = hidden_states.transpose(1, 2);
  if (LinearLayer* const layer = KeyValueCache::linear_layer())
    layer->update_conv_state(context, kernel_);
  context = ghost::strided_slice(ghost::pad_last(context, kernel_ - 1, 0), -1, 0, 1);
  Tensor windows = ghost::flip(ghost::unfold_last(context, kernel_), -1).transpose(1, 2);
  windows = windows.reshape({batch_size, seq_len, num_heads_, -1, kernel_});
  hidden_states = windows.mul(weights).sum(-1).reshape(x.sizes());
  hidden_states = hidden_states.add(residual).div(2.0);
  return hidden_states.to(x.dtype());
}

Inkling2ScaledClip::Inkling2ScaledClip(const nn::Scope& scope, std::int64_t num_heads,
                                       std::int64_t width, bool log_scales)
    : Module(scope),
      log_scales_(log_scales),
      scale_(scope.parameter("scale", {num_heads, width})) {}

Tensor Inkling2ScaledClip::forward(const Tensor& x, const Tensor& position_ids) {
  Tensor hidden_states = x.to_float().mul(scale_.to_float());
  if (!log_scales_) {
    const Tensor norm = ghost::vector_norm(hidden_states, -1);
    return hidden_states.mul(ghost::clamp(ghost::rdiv(8.0, norm.add(1e-6)), {.max = 1.0}))
        .to(x.dtype());
  }
  hidden_states = l2_clip(hidden_states);
  hidden_states = hidden_states.to(x.dtype());
  return log_scale(hidden_states, position_ids);
}

Inkling2QueryProjection::Inkling2QueryProjection(const nn::Scope& scope, const Inkling2Config& c,
                                                 std::int64_t layer)
    : Module(scope),
      head_dim_(c.heads_of(layer).dim),
      linear_(scope / "linear", c.hidden_size, c.heads_of(layer).query * head_dim_, false),
      norm_(scope / "norm", c.heads_of(layer).query, head_dim_, !c.slides(layer)) {}

Tensor Inkling2QueryProjection::forward(const Tensor& x, const Tensor& position_ids) {
  Tensor states = linear_(x);
  states = states.view(by_head(states, head_dim_));
  return norm_(states, position_ids).transpose(1, 2);
}

Inkling2KeyValueProjection::Inkling2KeyValueProjection(const nn::Scope& scope,
                                                       const Inkling2Config& c, std::int64_t layer,
                                                       bool is_key)
    : Module(scope),
      head_dim_(c.heads_of(layer).dim),
      linear_(scope / "linear", c.hidden_size, c.heads_of(layer).key_value * head_dim_, false) {
  if (c.slides(layer))
    sconv_.emplace(scope / "sconv", linear_.out_features, c.conv_kernel);
  else
    dynamic_sconv_.emplace(scope / "sconv", c, c.heads_of(layer));
  if (!is_key) norm_.emplace(scope / "norm");
}

Tensor Inkling2KeyValueProjection::forward(const Tensor& x) {
  Tensor states = linear_(x);
  states = sconv_ ? (*sconv_)(states) : (*dynamic_sconv_)(states, x);
  states = states.view(by_head(states, head_dim_));
  return (norm_ ? (*norm_)(states) : l2_clip(states)).transpose(1, 2);
}

Inkling2GatedOutputProjection::Inkling2GatedOutputProjection(const nn::Scope& scope,
                                                             const Inkling2Config& c,
                                                             const Inkling2Heads& heads)
    : Module(scope),
      gate_proj_(scope / "gate_proj", c.hidden_size, heads.query * heads.dim, false),
      linear_(scope / "linear", heads.query * heads.dim, c.hidden_size, false) {}

Tensor Inkling2GatedOutputProjection::forward(const Tensor& given, const Tensor& hidden_states) {
  const Tensor gate = ghost::sigmoid(gate_proj_(hidden_states).to_float());
  const Tensor attn_output = given.to_float().mul(gate).to(given.dtype());
  return linear_(attn_output);
}

Inkling2RelativePositionBias::Inkling2RelativePositionBias(const nn::Scope& scope,
                                                           const Inkling2Config& c,
                                                           std::int64_t layer)
    : Module(scope),
      num_heads_(c.heads_of(layer).query),
      rel_extent_(c.slides(layer) ? *c.sliding_window : c.rel_extent),
      linear_(scope / "linear", c.hidden_size, num_heads_ * c.d_rel, false),
      norm_(scope / "norm", num_heads_, c.d_rel, !c.slides(layer)),
      proj_(scope.parameter("proj", {c.d_rel, rel_extent_})) {}

Tensor Inkling2RelativePositionBias::forward(const Tensor& x, const Tensor& relative_distance,
                                             const Tensor& position_ids) {
  const auto last = static_cast<double>(rel_extent_ - 1);
  const Dims& distances = relative_distance.sizes();
  Tensor relative_states = linear_(x).view({x.size(0), x.size(1), num_heads_, -1});
  relative_states = norm_(relative_states, position_ids);
  const Tensor rel_logits = relative_states.matmul(proj_).transpose(1, 2);
  const Tensor gather_index = ghost::clamp(relative_distance, {.min = 0.0, .max = last})
                                  .expand({x.size(0), num_heads_, distances[0], distances[1]});
  const Tensor position_bias = ghost::gather(rel_logits, gather_index);
  Tensor outside = ghost::lt(relative_distance, 0.0);
  outside = ghost::bitwise_or(std::move(outside), ghost::ge(relative_distance, last + 1));
  return ghost::masked_fill(position_bias, std::move(outside), 0.0);
}

Inkling2Attended inkling2_attend(const AttentionCall& call, const Tensor& query, const Tensor& key,
                                 const Tensor& value, const Tensor& attention_mask,
                                 const Inkling2Bias& bias) {
  const Tensor key_states = repeat_kv(key, call.num_key_value_groups);
  const Tensor value_states = repeat_kv(value, call.num_key_value_groups);
  Tensor attn_weights = query.matmul(key_states.transpose(2, 3)).mul(ghost::kScale);
  if (bias.position_bias.defined()) attn_weights = attn_weights.add(bias.position_bias);
  if (attention_mask.defined()) attn_weights = attn_weights.add(attention_mask);
  Tensor combined_logits;
  if (bias.sinks.defined()) {
    combined_logits = ghost::cat({attn_weights, bias.sinks}, -1).to_float();
    attn_weights =
        ghost::softmax(combined_logits, DType::float32).slice(-1, 0, -1).to(query.dtype());
  } else {
    attn_weights = ghost::softmax(attn_weights, DType::float32).to(query.dtype());
  }
  attn_weights = ghost::dropout(attn_weights, call.dropout);
  Tensor attn_output = attn_weights.matmul(value_states);
  attn_output = attn_output.transpose(1, 2).contiguous();
  return {std::move(attn_output), std::move(attn_weights)};
}

Inkling2Attention::Inkling2Attention(const nn::Scope& scope, const Inkling2Config& c,
                                     std::int64_t layer)
    : Module(scope),
      call_{.implementation = AttentionImplementation::eager,
            .num_key_value_groups = c.heads_of(layer).query / c.heads_of(layer).key_value,
            .dropout = c.attention_dropout},
      q_proj_(scope / "q_proj", c, layer),
      k_proj_(scope / "k_proj", c, layer, true),
      v_proj_(scope / "v_proj", c, layer, false),
      o_proj_(scope / "o_proj", c, c.heads_of(layer)),
      sink_proj_(scope / "sink_proj", c.hidden_size, c.heads_of(layer).query, false),
      relative_position_bias_(scope / "relative_position_bias", c, layer) {}

Tensor Inkling2Attention::forward(const Tensor& x, const Tensor& key_hidden_states,
                                  const Tensor& value_hidden_states, const Tensor& attention_mask,
                                  const Tensor& relative_distance, const Tensor& position_ids) {
  const Tensor query_states = q_proj_(x, position_ids);
  Tensor key_states = k_proj_(key_hidden_states);
  Tensor value_states = v_proj_(value_hidden_states);
  KeyValueCache::update(key_states, value_states);
  AttentionCalls::note(query_states, key_states, value_states);
  Inkling2Bias bias;
  bias.position_bias = relative_position_bias_(x, relative_distance, position_ids);
  bias.sinks = sink_proj_(x).transpose(1, 2).unsqueeze(-1);
  Inkling2Attended attended =
      inkling2_attend(call_, query_states, key_states, value_states, attention_mask, bias);
  nn::LayerFrame::keep_attention_weights(attended.attn_weights);
  Tensor attn_output = std::move(attended.attn_output);
  attn_output = attn_output.reshape(x.sizes().leading().with(-1)).contiguous();
  attn_output = o_proj_(attn_output, x);
  return attn_output;
}

}  // namespace memtape::family
