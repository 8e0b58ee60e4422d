// SPDX-License-Identifier: Apache-2.0
// BERT with its masked-language-model head and its classifiers: three embedding tables, norms after
// each branch, no mask for whole batches, a decoder whose weight and bias are tied; mirroring
// transformers 5.17 models/bert/modeling_bert.py.
#include "family/bert_encoder.h"
#include "family/bert_head.h"
#include "family/encoder_classifier.h"
#include "family/families.h"
#include "family/loss.h"

namespace memtape::family {
namespace {

class BertForMaskedLM : public PretrainedModel {
 public:
  BertForMaskedLM(const BertConfig& c, const ModelOptions& options)
      : PretrainedModel(options),
        vocab_size_(c.vocab_size),
        bert_(root() / "bert", c),
        predictions_(root() / "cls" / "predictions", c) {
    if (c.tie_word_embeddings) predictions_.tie(bert_.embeddings.word_embeddings.weight);
  }

  std::string_view output_embeddings() const override { return "cls.predictions.decoder"; }

  ModelOutput forward(const Batch& batch) override {
    const Tensor sequence_output = bert_(batch.input_ids, batch.attention_mask);
    Tensor prediction_scores = predictions_(sequence_output);
    Tensor loss = masked_lm_loss(prediction_scores, batch, vocab_size_);
    return {std::move(loss), std::move(prediction_scores)};
  }

 private:
  std::int64_t vocab_size_;
  BertModel<BertEmbeddings> bert_;
  BertLMPredictionHead predictions_;
};

std::unique_ptr<ClassifierHead> make_head(const nn::Scope& root, const nn::Scope* body,
                                          const ModelOptions& options,
                                          const ClassifierWidths& widths) {
  if (options.task == Task::sequence_classification || options.task == Task::multiple_choice)
    return std::make_unique<PooledClassifier>(root, *body, widths);
  return make_token_head(root, options.task, widths);
}

}  // namespace

ModelPointer build_bert(const Config& c, const ModelOptions& options) {
  const BertConfig config(c, options, {});
  if (!is_classification(options.task)) return build_checked<BertForMaskedLM>(c, config, options);
  if (!c.check()) return nullptr;
  using Model = EncoderForClassification<BertModel<BertEmbeddings>>;
  return std::make_unique<Model>(
      options, classifier_widths(options, config.hidden_size, config.hidden_dropout_prob),
      make_head, Model::Order::body_first, "bert", config);
}

}  // namespace memtape::family
