// SPDX-License-Identifier: Apache-2.0
#include "family/parts/encoder_classifier.h"

#include <utility>

#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/views.h"

namespace memtape::family {

namespace {

Tensor mean_over_tokens(const Tensor& last_hidden_state, const Tensor& given_mask) {
  const Tensor attention_mask =
      given_mask.defined()
          ? given_mask
          : ghost::ones({last_hidden_state.size(0), last_hidden_state.size(1)}, DType::boolean);
  Tensor sum = last_hidden_state.mul(attention_mask.unsqueeze(-1)).sum(1);
  return std::move(sum).div(attention_mask.sum(1, true));
}

}  // namespace

void pool_tokens(Tensor& last_hidden_state, const Tensor& given_mask, bool takes_mean) {
  last_hidden_state = takes_mean ? mean_over_tokens(last_hidden_state, given_mask)
                                 : ghost::indexed_by_colons(last_hidden_state, 1).select(1, 0);
}

ClassifierWidths classifier_widths(const ModelOptions& options, std::int64_t hidden_size,
                                   double hidden_dropout_prob) {
  const bool chooses = options.task == Task::multiple_choice;
  const bool locates = options.task == Task::question_answering;
  const double dropout = options.classifier_dropout.value_or(hidden_dropout_prob);
  return {hidden_size, chooses ? 1 : options.num_labels, locates ? 0.0 : dropout};
}

ModelOutput ClassifierHead::output(Tensor logits, const Batch& batch) {
  return classified(std::move(logits), batch);
}

TokenClassifier::TokenClassifier(const nn::Scope& root, const ClassifierWidths& widths)
    : dropout_(root / "dropout", widths.dropout),
      classifier_(root / "classifier", widths.hidden_size, widths.num_labels) {}

Tensor TokenClassifier::logits(Tensor& features, const Tensor&) {
  features = dropout_(features);
  return classifier_(features);
}

AnswerLocator::AnswerLocator(const nn::Scope& root, const ClassifierWidths& widths)
    : qa_outputs_(root / "qa_outputs", widths.hidden_size, 2) {
  if (widths.dropout > 0) dropout_.emplace(root / "dropout", widths.dropout);
}

Tensor AnswerLocator::logits(Tensor& features, const Tensor&) {
  if (dropout_) features = (*dropout_)(features);
  return qa_outputs_(features);
}

std::unique_ptr<ClassifierHead> make_token_head(const nn::Scope& root, Task task,
                                                const ClassifierWidths& widths) {
  if (task == Task::question_answering) return std::make_unique<AnswerLocator>(root, widths);
  return std::make_unique<TokenClassifier>(root, widths);
}

PooledClassifier::PooledClassifier(const nn::Scope& root, const nn::Scope& body,
                                   const ClassifierWidths& widths, Pooler pooler)
    : pooler_(body / "pooler"),
      dense_(pooler == Pooler::module ? pooler_ / "dense" : pooler_, widths.hidden_size,
             widths.hidden_size),
      classifier_(root, widths) {}

Tensor PooledClassifier::pooled(const Tensor& hidden_states) {
  const ghost::ScopeGuard guard(pooler_.node().scope);
  const Tensor first_token_tensor = ghost::indexed_by_colons(hidden_states, 1).select(1, 0);
  const Tensor pooled_output = dense_(first_token_tensor);
  return ghost::tanh(pooled_output);
}

Tensor PooledClassifier::logits(Tensor& features, const Tensor& attention_mask) {
  return classifier_.logits(features, attention_mask);
}

DenseClassifier::DenseClassifier(const nn::Scope& root, const ClassifierWidths& widths,
                                 std::string_view activation)
    : classifier_(root / "classifier"),
      dense_(classifier_ / "dense", widths.hidden_size, widths.hidden_size),
      activation_(*nn::Activation::from_name(activation)),
      dropout_(classifier_ / "dropout", widths.dropout),
      out_proj_(classifier_ / "out_proj", widths.hidden_size, widths.num_labels) {}

Tensor DenseClassifier::logits(Tensor& features, const Tensor&) {
  const ghost::ScopeGuard guard(classifier_.node().scope);
  Tensor x = ghost::indexed_by_colons(ghost::indexed_by_colons(features, 1).select(1, 0), 1);
  x = dropout_(x);
  x = dense_(x);
  x = activation_(x);
  x = dropout_(x);
  x = out_proj_(x);
  return x;
}

std::unique_ptr<ClassifierHead> make_dense_head(const nn::Scope& root, const nn::Scope* body,
                                                const ModelOptions& options,
                                                const ClassifierWidths& widths) {
  if (options.task == Task::sequence_classification)
    return std::make_unique<DenseClassifier>(root, widths, "tanh");
  if (options.task == Task::multiple_choice)
    return std::make_unique<PooledClassifier>(root, *body, widths);
  return make_token_head(root, options.task, widths);
}

}  // namespace memtape::family
