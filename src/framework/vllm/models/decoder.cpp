// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/decoder.h"

#include <deque>
#include <optional>

#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

/// RMSNorm, or LayerNorm where residuals are added apart (phimoe.py).
class StreamNorm {
 public:
  StreamNorm(const Place& place, std::int64_t width, const DecoderChoices& choices) {
    if (choices.layer_norm)
      layer_norm_.emplace(place, width);
    else
      rms_.emplace(place, width, choices.norm);
  }
  Tensor operator()(const Tensor& x) { return rms_ ? (*rms_)(x) : (*layer_norm_)(x); }
  Stream start_or_add(const Tensor& x, const Tensor& residual) {
    return rms_->start_or_add(x, residual);
  }

 private:
  std::optional<RMSNorm> rms_;
  std::optional<LayerNorm> layer_norm_;
};

class Layer : public nn::Module<Layer> {
 public:
  Layer(const Place& place, const DecoderChoices& choices, std::int64_t index)
      : Module(place.scope()), form_(choices.form) {
    const std::int64_t hidden = place.config().dimension("hidden_size");
    if (choices.norms_first) make_norms(place, hidden, choices);
    blocks_ = choices.blocks(place, index);
    if (!choices.norms_first) make_norms(place, hidden, choices);
  }

  /// `normed`: the input's norm where it is there already; alive as long as the layer runs.
  Stream run(const Stream& input, const Tensor& normed) {
    const ghost::ScopeGuard guard(node().scope);
    if (normed.defined()) return after_norm({normed, input.hidden});
    switch (form_) {
      case LayerForm::fused: return fused(input.hidden, input.residual);
      case LayerForm::sandwich: return sandwich(input.hidden, input.residual);
      case LayerForm::explicit_add: return {explicit_add(input.hidden), {}};
      case LayerForm::plain_add: return plain_add(input.hidden);
    }
    return {};
  }

 private:
  void make_norms(const Place& place, std::int64_t hidden, const DecoderChoices& choices) {
    // The norm of a block that a layer lacks (DeciLM) is lacking, too.
    if (choices.norms_first || blocks_.attention)
      norms_.emplace_back(place / "input_layernorm", hidden, choices);
    if (choices.norms_first || blocks_.feed_forward)
      norms_.emplace_back(place / "post_attention_layernorm", hidden, choices);
    if (choices.form != LayerForm::sandwich) return;
    norms_.emplace_back(place / "pre_feedforward_layernorm", hidden, choices);
    norms_.emplace_back(place / "post_feedforward_layernorm", hidden, choices);
  }

  Stream fused(const Tensor& hidden, const Tensor& residual) {
    if (!blocks_.attention) return after_attention({hidden, residual});
    return after_norm(norms_[0].start_or_add(hidden, residual));
  }
  Stream after_norm(Stream s) {
    s.hidden = blocks_.attention(s.hidden);
    return after_attention(std::move(s));
  }
  Stream after_attention(Stream s) {
    if (!blocks_.feed_forward) return s;
    s = norms_[1].start_or_add(s.hidden, s.residual);
    s.hidden = blocks_.feed_forward(s.hidden);
    return s;
  }

  Stream sandwich(const Tensor& hidden, const Tensor& residual) {
    Stream s = norms_[0].start_or_add(hidden, residual);
    s.hidden = blocks_.attention(s.hidden);
    s.hidden = norms_[1](s.hidden);
    s = norms_[2].start_or_add(s.hidden, s.residual);
    s.hidden = blocks_.feed_forward(s.hidden);
    s.hidden = norms_[3](s.hidden);
    return s;
  }

  Stream plain_add(const Tensor& input) {
    Stream s{norms_[0](input), input};
    s.hidden = blocks_.attention(s.hidden);
    s.hidden = s.hidden.add(s.residual);
    s.residual = s.hidden;
    s.hidden = norms_[1](s.hidden);
    s.hidden = blocks_.feed_forward(s.hidden);
    s.hidden = s.hidden.add(s.residual);
    return s;
  }

  Tensor explicit_add(const Tensor& input) {
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

  LayerForm form_;
  LayerBlocks blocks_;
  std::deque<StreamNorm> norms_;
};

class StreamDecoder final : public ServedModel {
 public:
  StreamDecoder(const Place& place, DecoderChoices choices)
      : choices_(std::move(choices)),
        runtime_(place.runtime()),
        hidden_(place.config().dimension("hidden_size")) {
    const Config& config = place.config();
    const std::int64_t vocabulary = config.dimension("vocab_size");
    const bool tied = config.boolean("tie_word_embeddings", ties_by_default(config));
    const Parallel& parallel = runtime_.parallel();
    const Place body = place / "model";
    if (parallel.first_stage() || (tied && parallel.last_stage()))
      embed_tokens_.emplace(body / "embed_tokens", vocabulary, hidden_);
    const StageLayers range = stage_layers(parallel, config.layers("num_hidden_layers"));
    for (std::int64_t i = range.first; i < range.last; ++i)
      layers_.emplace_back(body / choices_.layers_name / i, choices_, i);
    if (parallel.last_stage()) {
      norm_.emplace(body / "norm", hidden_, choices_);
      if (choices_.scales_embedding) make_normalizer(body);
      lm_head_.emplace(place / "lm_head", vocabulary, hidden_, choices_.head_bias);
      if (tied) lm_head_->tie(embed_tokens_->table());
    }
  }

  Tensor forward(const Tensor& input_ids, const Stream& input) override {
    Stream s = input;
    Tensor normed;
    if (embed_tokens_ && runtime_.parallel().first_stage()) {
      if (choices_.fuses_first_norm && runtime_.tp() == 1) {
        const Dims sizes = input_ids.sizes().with(hidden_);
        s = {kernel_output("fused_embed_norm", sizes, runtime_.dtype()), {}};
        normed = kernel_output("fused_embed_norm", sizes, runtime_.dtype());
      } else {
        s = {embed(input_ids), {}};
      }
    }
    for (Layer& layer : layers_) {
      Stream next = layer.run(s, normed);
      s = std::move(next);
      normed.reset();
    }
    if (!norm_) return s.hidden;
    if (choices_.form == LayerForm::explicit_add || choices_.form == LayerForm::plain_add)
      return (*norm_)(s.hidden);
    return norm_->start_or_add(s.hidden, s.residual).hidden;
  }

  Tensor compute_logits(const Tensor& hidden_states) override {
    return lm_head_->logits(hidden_states, choices_.soft_caps_logits);
  }
  std::int64_t hidden_size() const override { return hidden_; }
  int intermediate_tensors() const override {
    return choices_.form == LayerForm::explicit_add ? 1 : 2;
  }

 private:
  /// Configuration classes whose default ties the two.
  static bool ties_by_default(const Config& config) {
    const std::string type = config.text("model_type", "");
    return type.starts_with("gemma") || type.starts_with("cohere");
  }
  void make_normalizer(const Place& body) {
    body.scope().buffer("normalizer", kernel_output("tensor", {}, runtime_.dtype()));
  }
  Tensor embed(const Tensor& input_ids) {
    if (!choices_.scales_embedding) return (*embed_tokens_)(input_ids);
    return (*embed_tokens_)(input_ids).mul(1.0);
  }

  DecoderChoices choices_;
  Runtime& runtime_;
  std::int64_t hidden_;
  std::optional<VocabParallelEmbedding> embed_tokens_;
  std::deque<Layer> layers_;
  std::optional<StreamNorm> norm_;
  std::optional<ParallelLMHead> lm_head_;
};

}  // namespace

std::unique_ptr<ServedModel> make_stream_decoder(const Place& place, DecoderChoices choices) {
  return std::make_unique<StreamDecoder>(place, std::move(choices));
}

StageLayers stage_layers(const Parallel& parallel, std::int64_t layers) {
  const std::int64_t each = layers / parallel.pp;
  const std::int64_t more = layers % parallel.pp;
  StageLayers range;
  // The stages before the last take the remainder, from the back.
  const auto size_of = [&](std::int64_t stage) {
    const std::int64_t from_back = parallel.pp - 1 - stage;
    return each + (from_back >= 1 && from_back <= more ? 1 : 0);
  };
  for (std::int64_t stage = 0; stage < parallel.pp_rank; ++stage) range.first += size_of(stage);
  range.last = range.first + size_of(parallel.pp_rank);
  return range;
}

}  // namespace memtape::vllm
