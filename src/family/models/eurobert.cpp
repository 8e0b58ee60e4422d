// SPDX-License-Identifier: Apache-2.0
// EuroBERT: Llama whose tokens see each other both ways, under a masked-language-model head and
// the heads of classifiers; mirroring transformers 5.17 models/eurobert/modular_eurobert.py.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "family/facts.h"
#include "family/losses/masked_lm_loss_function.h"
#include "family/parts/activations.h"
#include "family/parts/bidirectional.h"
#include "family/parts/encoder_classifier.h"
#include "family/parts/llama_layer.h"
#include "ghost/ops/pointwise.h"

namespace memtape::family {
namespace {

/// What becomes one of the states of a text.
enum class Pooling { first, mean, late };

struct EuroBertConfig : DecoderConfig {
  EuroBertConfig(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options,
                      {.vocab_size = 128256,
                       .hidden_size = 768,
                       .intermediate_size = 3072,
                       .num_hidden_layers = 12,
                       .num_attention_heads = 12}) {
    qkv_bias = o_bias = c.boolean("attention_bias", false);
    mlp_bias = c.boolean("mlp_bias", false);
  }
};

AttentionCall attention_call(const EuroBertConfig& c) { return bidirectional_call(c); }

struct EuroBertParts : BidirectionalParts {
  using Settings = EuroBertConfig;
  using DecoderLayer = PreNormDecoderLayer<LlamaAttention>;
  using Norm = LlamaRMSNorm;
  static LayerMasks make_masks(const EuroBertConfig& c, const Tensor& attention_mask,
                               const Tensor& inputs_embeds, const Tensor&) {
    return {create_bidirectional_mask({.attention = c.attention, .attention_mask = attention_mask},
                                      inputs_embeds),
            {}};
  }
};

using EuroBertModel = DecoderModel<EuroBertParts>;

class EuroBertForMaskedLM final : public PretrainedModel {
 public:
  EuroBertForMaskedLM(const EuroBertConfig& c, const ModelOptions& options)
      : PretrainedModel(options),
        vocab_size_(c.vocab_size),
        model_(root() / "model", c),
        lm_head_(root() / "lm_head", c.hidden_size, c.vocab_size, c.mlp_bias) {
    if (c.tie_word_embeddings) nn::tie(lm_head_, model_.embed_tokens.weight);
  }

  ModelOutput forward(const Batch& batch) override {
    const Tensor last_hidden_state = model_(batch.input_ids, batch.attention_mask);
    Tensor logits = lm_head_(last_hidden_state);
    Tensor loss = for_masked_lm_loss(logits, batch, vocab_size_);
    return {std::move(loss), std::move(logits)};
  }

 private:
  std::int64_t vocab_size_;
  EuroBertModel model_;
  nn::Linear lm_head_;
};

Pooling read_pooling(const Config& c) {
  const std::string pooling = c.text("classifier_pooling", "late");
  if (pooling == "bos") return Pooling::first;
  if (pooling == "mean") return Pooling::mean;
  if (pooling != "late")
    c.fail("classifier_pooling", "unknown pooling \"" + pooling + "\", use bos, mean or late");
  return Pooling::late;
}

/// The mean of [B, S, N] over the tokens that are there.
Tensor masked_mean(const Tensor& x, const Tensor& attention_mask) {
  if (!attention_mask.defined()) return x.mean(1);
  Tensor pooled = x.mul(attention_mask.unsqueeze(-1)).sum(1);
  ghost::div_(pooled, attention_mask.sum(1, true));
  return pooled;
}

/// EuroBertForSequenceClassification.
class EuroBertClassifier final : public ClassifierHead {
 public:
  EuroBertClassifier(const nn::Scope& root, const ClassifierWidths& widths, Pooling pooling)
      : pooling_(pooling),
        dense_(root / "dense", widths.hidden_size, widths.hidden_size),
        classifier_(root / "classifier", widths.hidden_size, widths.num_labels) {}

  Tensor logits(Tensor& features, const Tensor& attention_mask) override {
    if (pooling_ == Pooling::first) features = features.select(1, 0);
    if (pooling_ == Pooling::mean) features = masked_mean(features, attention_mask);
    features = dense_(features);
    features = ghost::gelu(features);
    Tensor logits = classifier_(features);
    if (pooling_ == Pooling::late) logits = masked_mean(logits, attention_mask);
    return logits;
  }

 private:
  Pooling pooling_;
  nn::Linear dense_, classifier_;
};

ModelPointer build_eurobert(const Config& c, const ModelOptions& options) {
  const EuroBertConfig config(c, options);
  if (!is_classification(options.task))
    return build_checked<EuroBertForMaskedLM>(c, config, options);
  const Pooling pooling = read_pooling(c);
  if (!c.check()) return nullptr;
  const ClassifierWidths widths{config.hidden_size, options.num_labels, 0.0};
  const auto make_head = [&](const nn::Scope& root, const nn::Scope*, const ModelOptions&,
                             const ClassifierWidths& of) -> std::unique_ptr<ClassifierHead> {
    if (options.task == Task::sequence_classification)
      return std::make_unique<EuroBertClassifier>(root, of, pooling);
    return make_token_head(root, options.task, of);
  };
  return std::make_unique<EncoderForClassification<EuroBertModel>>(
      options, widths, make_head, MadeFirst::body, "model", config);
}

}  // namespace

extern const FamilyFacts kEurobert{.model_type = "eurobert",
                                   .task = Task::masked_lm,
                                   .first = {5, 3, 0},
                                   .ties_head = Known::no,
                                   .has_bos = Known::yes,
                                   .modeling = kEncoder,
                                   .classifiers = {.sequences = true, .tokens = true},
                                   .build = build_eurobert};

}  // namespace memtape::family
