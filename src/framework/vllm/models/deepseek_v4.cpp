// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/deepseek_v4.h"

#include <deque>
#include <optional>

#include "framework/vllm/layers/compressed_mla.h"
#include "framework/vllm/layers/mlp.h"
#include "framework/vllm/layers/moe.h"
#include "framework/vllm/layers/vocabulary.h"
#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

/// The residual streams with what mixes them: residual, post_mix and res_mix.
struct Streams {
  Tensor hidden, residual, post_mix, res_mix;
};

/// The parameters that mix streams before a block, in float32.
class HyperConnection {
 public:
  HyperConnection(const Place& place, const std::string& name)
      : streams_(place.config().dimension("hc_mult")),
        hidden_(place.config().dimension("hidden_size")) {
    const std::int64_t mix = (2 + streams_) * streams_;
    place.parameter("hc_" + name + "_fn", {mix, streams_ * hidden_}, DType::float32);
    place.parameter("hc_" + name + "_base", {mix}, DType::float32);
    place.parameter("hc_" + name + "_scale", {3}, DType::float32);
  }

  /// mhc_fused_post_pre_tilelang: new streams and the block's input; the first layer spreads the
  /// embedding over the streams (mhc_pre_broadcast_tilelang).
  Streams mixed(const Tensor& x) const {
    const std::int64_t tokens = x.size(0);
    Streams s;
    s.residual = kernel_output("mhc_post", {tokens, streams_ * hidden_}, x.dtype());
    s.post_mix = kernel_output("mhc_pre", {tokens, streams_}, DType::float32);
    s.res_mix = kernel_output("mhc_pre", {tokens, streams_ * streams_}, DType::float32);
    s.hidden = kernel_output("mhc_pre", {tokens, hidden_}, x.dtype());
    return s;
  }

 private:
  std::int64_t streams_, hidden_;
};

/// DeepseekV4MLP: whole blocks of fp8's scales lie on a rank.
MoeBlock::Shared shared_experts(const Place& moe) {
  constexpr std::int64_t kBlock = 128;
  const Config& c = moe.config();
  const std::int64_t tp = moe.runtime().tp();
  const std::int64_t width = c.dimension("moe_intermediate_size") * c.count("n_shared_experts", 1);
  const std::int64_t padded = ceil_div(width / kBlock, tp) * kBlock * tp;
  const auto mlp = std::make_shared<GatedMlp>(moe / "shared_experts", c.dimension("hidden_size"),
                                              padded, MlpOptions{.reduce_results = false});
  return [mlp](const Tensor& x) { return (*mlp)(x); };
}

std::unique_ptr<MoeBlock> experts(const Place& place, std::int64_t index) {
  const Config& c = place.config();
  const std::int64_t chosen = c.dimension("num_experts_per_tok");
  const bool by_token = index < c.count("num_hash_layers", 0);
  if (by_token)
    (place / "gate").parameter("tid2eid", {c.dimension("vocab_size"), chosen}, DType::int32);
  const ExpertShape shape(place.runtime(), c.dimension("n_routed_experts"), chosen,
                          c.dimension("hidden_size"), c.dimension("moe_intermediate_size"));
  return std::make_unique<MoeBlock>(
      place, shape, MoeOptions{.score_bias = !by_token, .float32_logits = true}, shared_experts);
}

class StreamedLayer {
 public:
  StreamedLayer(const Place& place, std::int64_t index)
      : attention_(place / "attn", index),
        experts_(experts(place / "ffn", index)),
        attn_norm_(place / "attn_norm", place.config().dimension("hidden_size")),
        ffn_norm_(place / "ffn_norm", place.config().dimension("hidden_size")),
        before_attention_(place, "attn"),
        before_experts_(place, "ffn") {}

  /// A block's input dies with the streams that it came with.
  Streams run(Streams s) {
    s = before_attention_.mixed(s.hidden);
    s.hidden = attention_(s.hidden);
    s = before_experts_.mixed(s.hidden);
    s.hidden = (*experts_)(s.hidden);
    return s;
  }

 private:
  CompressedMlaAttention attention_;
  std::unique_ptr<MoeBlock> experts_;
  RMSNorm attn_norm_, ffn_norm_;
  HyperConnection before_attention_, before_experts_;
};

class DeepseekV4 final : public ServedModel {
 public:
  explicit DeepseekV4(const Place& place)
      : runtime_(place.runtime()),
        hidden_(place.config().dimension("hidden_size")),
        streams_(place.config().dimension("hc_mult")) {
    const Config& c = place.config();
    const std::int64_t vocabulary = c.dimension("vocab_size");
    const Parallel& parallel = runtime_.parallel();
    const Place body = place / "model";
    runtime_.kept.push_back(kernel_output(
        "topk_indices_buffer",
        {runtime_.settings.max_num_batched_tokens, c.dimension("index_topk")}, DType::int32));
    if (parallel.first_stage()) embed_tokens_.emplace(body / "embed_tokens", vocabulary, hidden_);
    const StageLayers range = stage_layers(parallel, c.layers("num_hidden_layers"));
    for (std::int64_t i = range.first; i < range.last; ++i)
      layers_.emplace_back(body / "layers" / i, i);
    body.parameter("hc_head_fn", {streams_, streams_ * hidden_}, DType::float32);
    body.parameter("hc_head_base", {streams_}, DType::float32);
    body.parameter("hc_head_scale", {1}, DType::float32);
    if (!parallel.last_stage()) return;
    norm_.emplace(body / "norm", hidden_);
    lm_head_.emplace(place / "lm_head", vocabulary, hidden_);
  }

  Tensor forward(const Tensor& input_ids, const Stream& input) override {
    Streams s;
    s.hidden = embed_tokens_ ? (*embed_tokens_)(input_ids) : input.hidden;
    const DType dtype = s.hidden.dtype();
    for (StreamedLayer& layer : layers_) s = layer.run(std::move(s));
    const std::int64_t tokens = s.hidden.size(0);
    s.hidden = kernel_output("mhc_post", {tokens, streams_ * hidden_}, dtype);
    if (!norm_) return s.hidden;
    const Tensor head = kernel_output("hc_head", {tokens, hidden_}, dtype);
    return (*norm_)(head);
  }

  Tensor compute_logits(const Tensor& hidden_states) override {
    return lm_head_->logits(hidden_states, false);
  }
  int intermediate_tensors() const override { return 1; }
  std::int64_t hidden_size() const override { return hidden_; }

 private:
  Runtime& runtime_;
  std::int64_t hidden_, streams_;
  std::optional<VocabParallelEmbedding> embed_tokens_;
  std::deque<StreamedLayer> layers_;
  std::optional<RMSNorm> norm_;
  std::optional<ParallelLMHead> lm_head_;
};

}  // namespace

std::unique_ptr<ServedModel> make_deepseek_v4(const Place& place) {
  return std::make_unique<DeepseekV4>(place);
}

}  // namespace memtape::vllm
