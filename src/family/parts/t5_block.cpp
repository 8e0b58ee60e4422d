// SPDX-License-Identifier: Apache-2.0
#include "family/parts/t5_block.h"

#include <utility>
#include <vector>

#include "ghost/autograd/checkpoint_of_several.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {
namespace {

/// "clamp inf values to enable fp16 training": rebinds hidden_states and clamp_value.
void clamp_inf_values(Tensor& hidden_states, Tensor& clamp_value) {
  if (hidden_states.dtype() != DType::float16) return;
  {
    const Tensor any = ghost::any(ghost::isinf(hidden_states));
    const Tensor largest = ghost::zeros({}, DType::float32),
                 below_largest = ghost::zeros({}, DType::float32);
    clamp_value = ghost::where(any, below_largest, largest);
  }
  const Tensor negative = clamp_value.neg();
  hidden_states = ghost::clamp(hidden_states, negative, clamp_value);
}

/// The inputs one by one, as hooks of a module look at them.
template <class Call>
T5BlockOutput with_each(const T5BlockInputs& in, const Call& call) {
  return call(in.attention_mask, in.position_bias, in.encoder_hidden_states,
              in.encoder_attention_mask, in.encoder_decoder_position_bias, in.cache_position);
}

}  // namespace

T5Block::T5Block(const nn::Scope& scope, const T5Config& c, bool is_decoder, nn::ListIndex index)
    : GradientCheckpointingLayer(scope),
      tree_(scope.tree()),
      is_umt5_(!c.shares_position_bias),
      layer_(scope / "layer"),
      self_attention_(layer_ / 0, c,
                      is_decoder ? T5AttentionKind::decoder : T5AttentionKind::encoder,
                      index == 0 || !c.shares_position_bias),
      cross_attention_(is_decoder ? std::make_unique<T5LayerAttention>(
                                        layer_ / 1, c, T5AttentionKind::cross, false)
                                  : nullptr),
      feed_forward_(layer_ / (is_decoder ? 2 : 1), c) {}

T5BlockOutput T5Block::operator()(const Tensor& x, const T5BlockInputs& in) {
  if (tree_.gradient_checkpointing == nn::GradientCheckpointing::reentrant)
    return call_reentrant(x, in);
  return with_each(
      in, [&](const auto&... each) { return GradientCheckpointingLayer::operator()(x, each...); });
}

/// What a reentrant checkpoint saves goes with it; what comes by name stays in the partial that
/// runs the layer.
void T5Block::forget_positional(T5BlockInputs& in) const {
  const bool takes_names = ghost::has(changes::kLayersCheckpointThemselves);
  in.attention_mask.reset();
  if (!takes_names || !is_umt5_) in.encoder_attention_mask.reset();
  if (!takes_names) in.cache_position.reset();
}

T5BlockOutput T5Block::call_reentrant(const Tensor& x, const T5BlockInputs& in) {
  const std::vector<Tensor> wanting = {x, in.position_bias, in.encoder_hidden_states,
                                       in.encoder_decoder_position_bias};
  const auto others = std::make_shared<T5BlockInputs>(in);
  others->position_bias.reset();
  others->encoder_hidden_states.reset();
  others->encoder_decoder_position_bias.reset();
  const auto part = [this, others](const std::vector<Tensor>& inputs) {
    T5BlockInputs given = *others;
    given.position_bias = inputs[1];
    given.encoder_hidden_states = inputs[2];
    given.encoder_decoder_position_bias = inputs[3];
    const nn::LayerFrame frame;
    T5BlockOutput out = with_each(
        given, [&](const auto&... each) { return Module::operator()(inputs[0], each...); });
    return std::vector<Tensor>{std::move(out.hidden_states), std::move(out.self_attn_position_bias),
                               std::move(out.cross_attn_position_bias)};
  };
  std::vector<Tensor> out = ghost::checkpoint_reentrant_of_several(
      part, wanting, [this, others] { forget_positional(*others); });
  return {std::move(out[0]), std::move(out[1]), std::move(out[2])};
}

T5BlockOutput T5Block::forward(const Tensor& x, const Tensor& attention_mask,
                               const Tensor& position_bias, const Tensor& encoder_hidden_states,
                               const Tensor& encoder_attention_mask,
                               const Tensor& encoder_decoder_position_bias,
                               const Tensor& cache_position) {
  T5BlockOutput out;
  Tensor clamp_value;
  T5AttentionOutput attended =
      self_attention_(x, attention_mask, Tensor(), position_bias, cache_position);
  out.hidden_states = std::move(attended.attn_output);
  out.self_attn_position_bias = std::move(attended.position_bias);
  clamp_inf_values(out.hidden_states, clamp_value);
  if (cross_attention_) {
    Tensor query_length;
    if (cache_position.defined() && !is_umt5_) query_length = cache_position.slice(0, 0, 1).add(1);
    attended = (*cross_attention_)(out.hidden_states, encoder_attention_mask, encoder_hidden_states,
                                   encoder_decoder_position_bias, cache_position);
    out.hidden_states = std::move(attended.attn_output);
    out.cross_attn_position_bias = std::move(attended.position_bias);
    clamp_inf_values(out.hidden_states, clamp_value);
  }
  out.hidden_states = feed_forward_(out.hidden_states);
  clamp_inf_values(out.hidden_states, clamp_value);
  return out;
}

}  // namespace memtape::family
