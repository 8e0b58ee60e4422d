// SPDX-License-Identifier: Apache-2.0
// The heads of AutoModelForSequenceClassification, TokenClassification, QuestionAnswering and
// MultipleChoice: as decoders have them (transformers 5.17, modeling_layers.py), and as each
// encoder has them in its modeling_FAMILY.py.
#pragma once

#include "family/facts.h"
#include "nn/layers.h"

namespace memtape::family {

/// Whether models of that family have the head and it is modelled.
bool has_classifier(const FamilyFacts& facts, Task task);

/// What `config` says about the head: num_labels (else the number of names in id2label, else 2),
/// and the dropout before it.
ModelOptions with_classifier(const Config& config, const FamilyFacts& facts, ModelOptions options);

/// ForSequenceClassificationLoss, if there are labels: of several classes
/// CrossEntropyLoss()(logits.view(-1, num_labels), labels.view(-1)), of one MSELoss().
ModelOutput classified(Tensor logits, const Batch& batch);

/// The logits of start and end from [B, S, 2], and the mean of both losses.
ModelOutput located(const Tensor& logits, const Batch& batch);

/// The sample of a text for that head: four texts to choose from, or one.
SampleSizes classifier_sample(Task task, std::int64_t sequence_length);

/// The name of a decoder's head for tokens, and whether its loss is computed in float32.
struct TokenHead {
  std::string_view name = "score";
  bool in_float32 = true;
};

/// The head `score` or `qa_outputs` over a decoder's last hidden states: the GenericFor... classes,
/// or the classes of their own that older decoders have. Only classifiers have this module.
class GenericClassifier {
 public:
  GenericClassifier(const nn::Scope& root, const ModelOptions& options,
                    const TokenHead& token_head = {});

  /// The head for that task; empty for a language model.
  static std::optional<GenericClassifier> made(const nn::Scope& root, const ModelOptions& options,
                                               const TokenHead& token_head = {});

  /// The name of the module, and how many numbers it returns for each token.
  std::string_view name() const;
  std::int64_t width() const;
  bool has_bias() const { return task_ != Task::sequence_classification; }

  ModelOutput operator()(const Tensor& hidden_states, nn::Linear& score, const Batch& batch);

 private:
  ModelOutput classify_sequences(const Tensor& hidden_states, nn::Linear& score,
                                 const Batch& batch) const;
  ModelOutput classify_tokens(const Tensor& hidden_states, nn::Linear& score, const Batch& batch);

  Task task_;
  TokenHead token_head_;
  std::int64_t num_labels_;
  std::optional<nn::Dropout> dropout_;
};

}  // namespace memtape::family
