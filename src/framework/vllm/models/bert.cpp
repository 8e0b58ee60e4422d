// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/bert.h"

#include <algorithm>
#include <array>
#include <deque>

#include "framework/vllm/layers/attention.h"
#include "framework/vllm/models/dense.h"
#include "framework/vllm/ops.h"
#include "ghost/ops/pointwise.h"

namespace memtape::vllm {
namespace {

std::string architecture_name(const Config& config) {
  const std::vector<std::string> names = config.texts("architectures");
  return names.empty() ? std::string() : names.front();
}

bool is_roberta(const Config& config) {
  return architecture_name(config).find("oberta") != std::string::npos;
}

/// A dense layer, and nn.LayerNorm of its sum with what went around it (BertSelfOutput, BertOutput).
class AddAndNorm : public nn::Module<AddAndNorm> {
 public:
  AddAndNorm(const Place& place, std::int64_t in, std::int64_t hidden)
      : Module(place.scope()),
        dense_(place / "dense", in, {hidden}, {.cut = Cut::row, .bias = true}),
        norm_(place / "LayerNorm", hidden) {}

  Tensor forward(const Tensor& x, const Tensor& around) {
    Tensor hidden = dense_(x);
    hidden = norm_(hidden.add(around));
    return hidden;
  }

 private:
  Linear dense_;
  LayerNorm norm_;
};

/// BertLayer.
class BertLayer : public nn::Module<BertLayer> {
 public:
  BertLayer(const Place& place, std::int64_t hidden, std::int64_t inner)
      : Module(place.scope()),
        qkv_(qkv_linear(place / "attention" / "self" / "qkv_proj", hidden, config_heads(place),
                        {.bias = true})),
        attn_(place / "attention" / "self" / "attn", config_heads(place),
              AttentionOptions{.shares_cache = true}),
        attention_output_(place / "attention" / "output", hidden, hidden),
        intermediate_(place / "intermediate" / "dense", hidden, {inner}, {.bias = true}),
        output_(place / "output", inner, hidden) {}

  Tensor forward(const Tensor& hidden) {
    Tensor attended;
    {
      const Tensor qkv = (*qkv_)(hidden);
      const Tensor mixed = attn_(qkv.slice(1, 0, qkv.size(1) / 3));
      attended = attention_output_(mixed, hidden);
    }
    Tensor inner = intermediate_(attended);
    inner = kernel_output("gelu", inner.sizes(), inner.dtype());
    return output_(inner, attended);
  }

 private:
  std::unique_ptr<Linear> qkv_;
  Attention attn_;
  AddAndNorm attention_output_;
  Linear intermediate_;
  AddAndNorm output_;
};

/// BertEmbeddingModel and its relatives, up to the hidden states of the last layer.
class BertEncoder final : public ServedModel {
 public:
  explicit BertEncoder(const Place& place) : hidden_(place.config().dimension("hidden_size")) {
    const Config& c = place.config();
    const Place embeddings = place / "model" / "embeddings";
    words_.emplace(embeddings / "word_embeddings", c.dimension("vocab_size"), hidden_);
    positions_.emplace(embeddings / "position_embeddings",
                       c.dimension("max_position_embeddings", 512), hidden_);
    types_.emplace(embeddings / "token_type_embeddings", c.dimension("type_vocab_size", 2),
                   hidden_);
    norm_.emplace(embeddings / "LayerNorm", hidden_);
    embeddings.scope().buffer(
        "position_ids",
        kernel_output("arange", {1, c.dimension("max_position_embeddings", 512)}, DType::int64));
    const std::int64_t layers = c.dimension("num_hidden_layers");
    for (std::int64_t i = 0; i < layers; ++i)
      layers_.emplace_back(place / "model" / "encoder" / "layer" / i, hidden_,
                           c.dimension("intermediate_size"));
    make_head(place);
  }

  Tensor forward(const Tensor& input_ids, const Stream&) override {
    Tensor hidden;
    {
      const Tensor type_ids = kernel_output("bitwise_and", input_ids.sizes(), input_ids.dtype());
      const Tensor words = (*words_)(input_ids);
      const Tensor ids = kernel_output("add", input_ids.sizes(), DType::int64);
      const Tensor positions = (*positions_)(ids);
      const Tensor types = (*types_)(type_ids);
      hidden = words.add(types);
      hidden = hidden.add(positions);
    }
    hidden = (*norm_)(hidden);
    for (BertLayer& layer : layers_) hidden = layer(hidden);
    return hidden;
  }
  Tensor compute_logits(const Tensor& hidden_states) override { return hidden_states; }
  int intermediate_tensors() const override { return 1; }
  std::int64_t hidden_size() const override { return hidden_; }

 private:
  /// What a classifier has before its last layer, in float32 (head_dtype): BertPooler, or the dense
  /// layer of RobertaClassificationHead; and the last layer's bias.
  void make_head(const Place& place) {
    const auto& pooling = place.settings().pooling;
    if (!pooling || pooling->labels == 0) return;
    const Place head = place / "classifier";
    head.parameter("bias", {pooling->labels}, DType::float32);
    if (architecture_name(place.config()).ends_with("ForTokenClassification")) return;
    const Place dense = head / "dense";
    dense.parameter("weight", {hidden_, hidden_}, DType::float32);
    dense.parameter("bias", {hidden_}, DType::float32);
  }

  std::int64_t hidden_;
  std::optional<VocabParallelEmbedding> words_, positions_, types_;
  std::optional<LayerNorm> norm_;
  std::deque<BertLayer> layers_;
};

}  // namespace

std::unique_ptr<ServedModel> make_bert(const Place& place) {
  return std::make_unique<BertEncoder>(place);
}

bool encodes_text(const Config& config) {
  constexpr auto kEncoders = std::to_array<std::string_view>(
      {"ModernBertModel", "ModernBertForSequenceClassification", "ModernBertForTokenClassification",
       "BertModel", "RobertaModel", "RobertaForMaskedLM", "XLMRobertaModel",
       "BertForSequenceClassification", "BertForTokenClassification",
       "RobertaForSequenceClassification", "RobertaForTokenClassification",
       "XLMRobertaForSequenceClassification", "XLMRobertaForTokenClassification"});
  const std::string name = architecture_name(config);
  const bool is_absolute = config.text("position_embedding_type", "absolute") == "absolute";
  return is_absolute && std::ranges::find(kEncoders, name) != kEncoders.end();
}

std::int64_t longest_text(const Config& config) {
  const std::int64_t positions = config.dimension("max_position_embeddings", 512);
  return is_roberta(config) ? positions - config.integer("pad_token_id", 1) - 1 : positions;
}

}  // namespace memtape::vllm
