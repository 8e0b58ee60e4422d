// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/decoder_layer.h"

#include "framework/vllm/ops.h"

namespace memtape::vllm {

StreamNorm::StreamNorm(const Place& place, std::int64_t width, const DecoderChoices& choices) {
  if (choices.layer_norm)
    layer_norm_.emplace(place, width);
  else
    rms_.emplace(place, width, choices.norm);
}

DecoderLayer::DecoderLayer(const Place& place, const DecoderChoices& choices, std::int64_t index)
    : Module(place.scope()), form_(choices.form) {
  const std::int64_t hidden = place.config().dimension("hidden_size");
  if (choices.norms_first) make_norms(place, hidden, choices);
  blocks_ = choices.blocks(place, index);
  if (!choices.norms_first) make_norms(place, hidden, choices);
}

Stream DecoderLayer::run(const Stream& input, const Tensor& normed) {
  const ghost::ScopeGuard guard(node().scope);
  if (normed.defined()) return after_norm({normed, input.hidden});
  switch (form_) {
    case LayerForm::fused: return fused(input.hidden, input.residual);
    case LayerForm::sandwich: return sandwich(input.hidden, input.residual);
    case LayerForm::explicit_add: return {explicit_add(input.hidden), {}};
    case LayerForm::plain_add: return plain_add(input.hidden);
    case LayerForm::post_norm: return post_norm(input.hidden);
  }
  return {};
}

void DecoderLayer::make_norms(const Place& place, std::int64_t hidden,
                              const DecoderChoices& choices) {
  // The norm of a block that a layer lacks (DeciLM) is lacking, too.
  if (choices.norms_first || blocks_.attention)
    norms_.emplace_back(place / "input_layernorm", hidden, choices);
  if (choices.norms_first || blocks_.feed_forward)
    norms_.emplace_back(place / "post_attention_layernorm", hidden, choices);
  if (choices.form != LayerForm::sandwich) return;
  norms_.emplace_back(place / "pre_feedforward_layernorm", hidden, choices);
  norms_.emplace_back(place / "post_feedforward_layernorm", hidden, choices);
}

Stream DecoderLayer::fused(const Tensor& hidden, const Tensor& residual) {
  if (!blocks_.attention) return after_attention({hidden, residual});
  return after_norm(norms_[0].start_or_add(hidden, residual));
}

Stream DecoderLayer::after_norm(Stream s) {
  s.hidden = blocks_.attention(s.hidden);
  return after_attention(std::move(s));
}

Stream DecoderLayer::after_attention(Stream s) {
  if (!blocks_.feed_forward) return s;
  s = norms_.back().start_or_add(s.hidden, s.residual);
  s.hidden = blocks_.feed_forward(s.hidden);
  return s;
}

Stream DecoderLayer::sandwich(const Tensor& hidden, const Tensor& residual) {
  Stream s = norms_[0].start_or_add(hidden, residual);
  s.hidden = blocks_.attention(s.hidden);
  s.hidden = norms_[1](s.hidden);
  s = norms_[2].start_or_add(s.hidden, s.residual);
  s.hidden = blocks_.feed_forward(s.hidden);
  s.hidden = norms_[3](s.hidden);
  return s;
}

Stream DecoderLayer::plain_add(const Tensor& input) {
  Stream s{norms_[0](input), input};
  s.hidden = blocks_.attention(s.hidden);
  s.hidden = s.hidden.add(s.residual);
  s.residual = s.hidden;
  s.hidden = norms_[1](s.hidden);
  s.hidden = blocks_.feed_forward(s.hidden);
  s.hidden = s.hidden.add(s.residual);
  return s;
}

Stream DecoderLayer::post_norm(const Tensor& input) {
  Stream s{blocks_.attention(input), input};
  s.hidden = norms_[0](s.hidden);
  s.hidden = s.residual.add(s.hidden);
  s.residual = s.hidden;
  s.hidden = blocks_.feed_forward(s.hidden);
  s.hidden = norms_[1](s.hidden);
  s.hidden = s.residual.add(s.hidden);
  return s;
}

Tensor DecoderLayer::explicit_add(const Tensor& input) {
  Tensor residual = input;
  Tensor hidden = norms_[0](input);
  hidden = blocks_.attention(hidden);
  hidden = residual.add(hidden.mul(0.5));
  residual = hidden;
  hidden = norms_[1](hidden);
  hidden = blocks_.feed_forward(hidden);
  hidden = residual.add(hidden.mul(0.5));
  return hidden;
}

}  // namespace memtape::vllm
