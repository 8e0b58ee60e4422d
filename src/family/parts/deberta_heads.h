// SPDX-License-Identifier: Apache-2.0
// The classifiers of both generations of DeBERTa: a pooler of the first token, and a loss over the
// texts that have a label; mirroring transformers 5.17 models/deberta/modeling_deberta.py and
// models/deberta_v2/modeling_deberta_v2.py.
#pragma once

#include <memory>
#include <utility>

#include "family/parts/activations.h"
#include "family/parts/bert_encoder.h"
#include "family/parts/deberta_dropout.h"
#include "family/parts/encoder_classifier.h"

namespace memtape::family {

struct ContextPoolerConfig {
  ContextPoolerConfig(const Config& c, const BertConfig& config);
  std::int64_t size;
  nn::Activation activation;
  double dropout;
};

class ContextPooler : public nn::Module<ContextPooler> {
 public:
  ContextPooler(const nn::Scope& scope, const ContextPoolerConfig& c);
  Tensor forward(const Tensor& hidden_states);

 private:
  nn::Linear dense_;
  DebertaDropout dropout_;
  nn::Activation activation_;
};

/// Classifies sequences, and then looks for the texts that have a label; or chooses between texts.
class ContextClassifier final : public ClassifierHead {
 public:
  ContextClassifier(const nn::Scope& root, const ClassifierWidths& widths,
                    const ContextPoolerConfig& pooler, Task task);
  Tensor logits(Tensor& features, const Tensor& attention_mask) override;
  ModelOutput output(Tensor logits, const Batch& batch) override;

 private:
  Task task_;
  ContextPooler pooler_;
  nn::Linear classifier_;
  DebertaDropout dropout_;
};

/// `Model` with the heads for sequences, tokens, answers and choices.
template <class Model>
ModelPointer build_deberta_classifier(const Config& c, const typename Model::Settings& config,
                                      const ModelOptions& options) {
  const ContextPoolerConfig pooler(c, config);
  ModelOptions classifier = options;
  classifier.classifier_dropout.reset();
  if (options.task == Task::sequence_classification || options.task == Task::multiple_choice)
    classifier.classifier_dropout = c.optional_number("cls_dropout");
  if (!c.check()) return nullptr;
  const auto make_head = [&](const nn::Scope& root, const nn::Scope*, const ModelOptions&,
                             const ClassifierWidths& widths) -> std::unique_ptr<ClassifierHead> {
    if (options.task == Task::token_classification || options.task == Task::question_answering)
      return make_token_head(root, options.task, widths);
    return std::make_unique<ContextClassifier>(root, widths, pooler, options.task);
  };
  return std::make_unique<EncoderForClassification<Model>>(
      options, classifier_widths(classifier, config.hidden_size, config.hidden_dropout_prob),
      make_head, MadeFirst::body, "deberta", config);
}

}  // namespace memtape::family
