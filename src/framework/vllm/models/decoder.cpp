// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/decoder.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "framework/vllm/models/decoder_layer.h"
#include "framework/vllm/models/tied_head.h"
#include "framework/vllm/offload.h"
#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

class StreamDecoder final : public ServedModel {
 public:
  StreamDecoder(const Place& place, DecoderChoices choices)
      : choices_(std::move(choices)),
        runtime_(place.runtime()),
        hidden_(place.config().dimension("hidden_size")) {
    const Config& config = place.config();
    const std::int64_t vocabulary = config.dimension("vocab_size");
    const bool tied = ties_head(config);
    const Parallel& parallel = runtime_.parallel();
    const Place body = place / "model";
    if (parallel.first_stage() || (tied && parallel.last_stage()))
      embed_tokens_.emplace(body / "embed_tokens", vocabulary, hidden_);
    const StageLayers range =
        stage_layers(parallel, config.layers({"num_hidden_layers", "num_layers"}));
    first_layer_ = range.first;
    for (std::int64_t i = range.first; i < range.last; ++i) add_layer(body, i);
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
    inner_states_.clear();
    std::int64_t index = first_layer_;
    keep_inner_state(index, s);
    for (DecoderLayer& layer : layers_) {
      Stream next = layer.run(s, normed);
      s = std::move(next);
      normed.reset();
      keep_inner_state(++index, s);
    }
    if (!norm_) return s.hidden;
    if (choices_.form == LayerForm::explicit_add || choices_.form == LayerForm::plain_add ||
        choices_.form == LayerForm::post_norm)
      return (*norm_)(s.hidden);
    return norm_->start_or_add(s.hidden, s.residual).hidden;
  }

  Tensor compute_logits(const Tensor& hidden_states) override {
    return lm_head_->logits(hidden_states, choices_.soft_caps_logits);
  }
  std::int64_t hidden_size() const override { return hidden_; }
  std::vector<Tensor> take_inner_states() override { return std::exchange(inner_states_, {}); }
  Tensor embedding_table() const override {
    return embed_tokens_ ? embed_tokens_->table() : Tensor();
  }
  const ParallelLMHead* head() const override { return lm_head_ ? &*lm_head_ : nullptr; }
  int intermediate_tensors() const override {
    return choices_.form == LayerForm::explicit_add ? 1 : 2;
  }

 private:
  void add_layer(const Place& body, std::int64_t index) {
    layers_.emplace_back(body / choices_.layers_name / index, choices_, index);
    offload_layers(body, choices_.layers_name);
  }
  void make_normalizer(const Place& body) {
    body.scope().buffer("normalizer", kernel_output("tensor", {}, runtime_.dtype()));
  }
  /// _maybe_add_hidden_state: before the layer of that index.
  void keep_inner_state(std::int64_t index, const Stream& s) {
    const std::vector<std::int64_t>& wanted = runtime_.settings.speculation.target_layers;
    if (std::ranges::find(wanted, index) == wanted.end()) return;
    inner_states_.push_back(s.residual.defined() ? s.hidden.add(s.residual) : s.hidden);
  }
  Tensor embed(const Tensor& input_ids) {
    if (!choices_.scales_embedding) return (*embed_tokens_)(input_ids);
    return (*embed_tokens_)(input_ids).mul(ghost::kScale);
  }

  DecoderChoices choices_;
  Runtime& runtime_;
  std::int64_t hidden_, first_layer_ = 0;
  std::vector<Tensor> inner_states_;
  std::optional<VocabParallelEmbedding> embed_tokens_;
  std::deque<DecoderLayer> layers_;
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
