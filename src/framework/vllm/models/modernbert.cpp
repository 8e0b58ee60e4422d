// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/modernbert.h"

#include <deque>
#include <optional>

#include "framework/vllm/layers/attention.h"
#include "framework/vllm/layers/norms.h"
#include "framework/vllm/layers/rotary.h"
#include "framework/vllm/layers/vocabulary.h"
#include "framework/vllm/models/dense.h"
#include "framework/vllm/ops.h"
#include "ghost/ops/pointwise.h"

namespace memtape::vllm {
namespace {

/// ModernBertAttention. Every third layer reads all tokens.
class ModernBertAttention : public nn::Module<ModernBertAttention> {
 public:
  ModernBertAttention(const Place& place, std::int64_t hidden, bool is_global)
      : Module(place.scope()),
        heads_(config_heads(place)),
        qkv_(qkv_linear(place / "Wqkv", hidden, heads_,
                        {.bias = place.config().boolean("attention_bias", false)})),
        rope_(get_rope(place / "rotary_emb",
                       {.head_size = heads_.size,
                        .max_position = place.config().integer("max_position_embeddings", 8192)},
                       rope_of(place.config(), is_global))),
        attn_(place / "attn", heads_, AttentionOptions{.shares_cache = true}),
        output_(place / "Wo", hidden, {hidden},
                {.cut = Cut::row, .bias = place.config().boolean("attention_bias", false)}) {}

  Tensor forward(const Tensor& hidden) {
    Tensor mixed;
    {
      const Tensor qkv = (*qkv_)(hidden);
      const std::int64_t width = heads_.query * heads_.size;
      Tensor query = qkv.slice(1, 0, width), key = qkv.slice(1, width, 2 * width);
      rope_->rotate(query, key);
      mixed = attn_(query);
    }
    return output_(mixed);
  }

 private:
  static RopeParameters rope_of(const Config& config, bool is_global) {
    RopeParameters rope;
    rope.theta = is_global ? config.number("global_rope_theta", 160000.0)
                           : config.number("local_rope_theta", 10000.0);
    rope.key = is_global ? "full_attention" : "sliding_attention";
    return rope;
  }

  Heads heads_;
  std::unique_ptr<Linear> qkv_;
  std::shared_ptr<RotaryEmbedding> rope_;
  Attention attn_;
  Linear output_;
};

/// ModernBertLayer; the first one has no norm before its attention.
class ModernBertLayer : public nn::Module<ModernBertLayer> {
 public:
  ModernBertLayer(const Place& place, std::int64_t hidden, std::int64_t inner, std::int64_t index)
      : Module(place.scope()),
        attn_(place / "attn", hidden,
              index % place.config().integer("global_attn_every_n_layers", 3) == 0),
        mlp_norm_(place / "mlp_norm", hidden, place.config().boolean("norm_bias", false)),
        up_(place / "mlp" / "Wi", hidden, {inner, inner},
            {.bias = place.config().boolean("mlp_bias", false)}),
        down_(place / "mlp" / "Wo", inner, {hidden},
              {.cut = Cut::row, .bias = place.config().boolean("mlp_bias", false)}) {
    if (index > 0)
      attn_norm_.emplace(place / "attn_norm", hidden, place.config().boolean("norm_bias", false));
  }

  Tensor forward(const Tensor& input) {
    Tensor hidden;
    {
      const Tensor attended = attn_(attn_norm_ ? (*attn_norm_)(input) : input);
      hidden = input.add(attended);
    }
    const Tensor mixed = gated(mlp_norm_(hidden));
    hidden = hidden.add(mixed);
    return hidden;
  }

 private:
  Tensor gated(const Tensor& x) {
    const Tensor both = up_(x);
    const std::int64_t width = both.size(1) / 2;
    const Tensor active = kernel_output("gelu", both.sizes().leading().with(width), both.dtype());
    const Tensor product = active.mul(both.slice(1, width, 2 * width));
    return down_(product);
  }

  std::optional<LayerNorm> attn_norm_;
  ModernBertAttention attn_;
  LayerNorm mlp_norm_;
  Linear up_, down_;
};

class ModernBertEncoder final : public ServedModel {
 public:
  explicit ModernBertEncoder(const Place& place)
      : hidden_(place.config().dimension("hidden_size")) {
    const Config& c = place.config();
    const bool bias = c.boolean("norm_bias", false);
    words_.emplace(place / "embeddings" / "tok_embeddings", c.dimension("vocab_size"), hidden_);
    norm_.emplace(place / "embeddings" / "norm", hidden_, bias);
    const std::int64_t layers = c.dimension("num_hidden_layers");
    for (std::int64_t i = 0; i < layers; ++i)
      layers_.emplace_back(place / "encoder_layer" / "layers" / i, hidden_,
                           c.dimension("intermediate_size"), i);
    final_norm_.emplace(place / "final_norm", hidden_, bias);
    make_head(place);
  }

  Tensor forward(const Tensor& input_ids, const Stream&) override {
    Tensor hidden;
    {
      const Tensor words = (*words_)(input_ids);
      hidden = (*norm_)(words);
    }
    for (ModernBertLayer& layer : layers_) hidden = layer(hidden);
    return (*final_norm_)(hidden);
  }
  Tensor compute_logits(const Tensor& hidden_states) override { return hidden_states; }
  int intermediate_tensors() const override { return 1; }
  std::int64_t hidden_size() const override { return hidden_; }

 private:
  /// ModernBertPooler and the classifier's bias, in float32 (head_dtype).
  void make_head(const Place& place) {
    const auto& pooling = place.settings().pooling;
    if (!pooling || pooling->labels == 0) return;
    (place / "classifier").parameter("bias", {pooling->labels}, DType::float32);
    (place / "pooling" / "dense").parameter("weight", {hidden_, hidden_}, DType::float32);
    (place / "pooling" / "norm").parameter("weight", {hidden_}, DType::float32);
  }

  std::int64_t hidden_;
  std::optional<VocabParallelEmbedding> words_;
  std::optional<LayerNorm> norm_, final_norm_;
  std::deque<ModernBertLayer> layers_;
};

}  // namespace

std::unique_ptr<ServedModel> make_modernbert(const Place& place) {
  return std::make_unique<ModernBertEncoder>(place);
}

}  // namespace memtape::vllm
