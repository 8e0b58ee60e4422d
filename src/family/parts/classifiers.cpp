// SPDX-License-Identifier: Apache-2.0
#include "family/parts/classifiers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/loss.h"
#include "ghost/ops/mse_loss.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

namespace memtape::family {
namespace {

/// run_swag.py's questions have four endings each.
constexpr std::int64_t kChoices = 4;

}  // namespace

bool has_classifier(const FamilyFacts& facts, Task task) {
  const Classifiers& heads = facts.classifiers;
  if (task == Task::token_classification) return heads.tokens;
  if (task == Task::question_answering) return heads.answers;
  return task == Task::sequence_classification ? heads.sequences : heads.choices;
}

ModelOptions with_classifier(const Config& config, const FamilyFacts& facts, ModelOptions options) {
  const auto named = static_cast<std::int64_t>(config.object("id2label").keys().size());
  options.num_labels = config.dimension("num_labels", named > 0 ? named : 2);
  std::optional<double>& dropout = options.classifier_dropout;
  dropout = config.optional_number("classifier_dropout");
  if (!dropout) dropout = facts.classifiers.classifier_dropout;
  if (!dropout) dropout = config.optional_number("hidden_dropout");
  if (!dropout) dropout = facts.classifiers.hidden_dropout;
  return options;
}

ModelOutput classified(Tensor logits, const Batch& batch) {
  if (!batch.labels.defined()) return {{}, std::move(logits)};
  const bool is_regression = logits.dim() == 2 && logits.size(-1) == 1;
  Tensor loss = is_regression ? ghost::mse_loss(logits.squeeze(-1), batch.labels)
                              : ghost::cross_entropy(logits.view({-1, logits.size(-1)}),
                                                     batch.labels.view({-1}));
  return {std::move(loss), std::move(logits)};
}

ModelOutput located(const Tensor& logits, const Batch& batch) {
  const std::array<std::int64_t, 2> ones{1, 1};
  Tensor start_logits, end_logits;
  {
    std::vector<Tensor> halves = logits.split(ones, -1);
    start_logits = std::move(halves[0]);
    end_logits = std::move(halves[1]);
  }
  start_logits = std::move(start_logits).squeeze(-1).contiguous();
  end_logits = std::move(end_logits).squeeze(-1).contiguous();
  const Tensor start_positions =
      ghost::clamp(batch.start_positions, {.min = 0, .max = ghost::kLimit});
  const Tensor end_positions = ghost::clamp(batch.end_positions, {.min = 0, .max = ghost::kLimit});
  const Tensor start_loss = ghost::cross_entropy(start_logits, start_positions);
  const Tensor end_loss = ghost::cross_entropy(end_logits, end_positions);
  Tensor total_loss = start_loss.add(end_loss).div(2.0);
  return {std::move(total_loss), std::move(start_logits), {}, std::move(end_logits)};
}

SampleSizes classifier_sample(Task task, std::int64_t sequence_length) {
  SampleSizes sizes{.pixel_values = {},
                    .input_features = {},
                    .input_ids = Dims{sequence_length},
                    .labels = Dims{}};
  if (task == Task::token_classification) sizes.labels = sizes.input_ids;
  if (task == Task::multiple_choice) sizes.input_ids = Dims{kChoices, sequence_length};
  if (task != Task::question_answering) return sizes;
  sizes.labels.reset();
  sizes.positions = Dims{};
  return sizes;
}

GenericClassifier::GenericClassifier(const nn::Scope& root, const ModelOptions& options,
                                     const TokenHead& token_head)
    : task_(options.task), token_head_(token_head), num_labels_(options.num_labels) {
  if (task_ == Task::token_classification)
    dropout_.emplace(root / "dropout", options.classifier_dropout.value_or(0.1));
}

std::optional<GenericClassifier> GenericClassifier::made(const nn::Scope& root,
                                                         const ModelOptions& options,
                                                         const TokenHead& token_head) {
  if (!is_classification(options.task)) return std::nullopt;
  return std::optional<GenericClassifier>(std::in_place, root, options, token_head);
}

std::string_view GenericClassifier::name() const {
  if (task_ == Task::question_answering) return "qa_outputs";
  return task_ == Task::token_classification ? token_head_.name : "score";
}

std::int64_t GenericClassifier::width() const {
  return task_ == Task::question_answering ? 2 : num_labels_;
}

ModelOutput GenericClassifier::operator()(const Tensor& hidden_states, nn::Linear& score,
                                          const Batch& batch) {
  if (task_ == Task::question_answering) {
    const Tensor logits = score(hidden_states);
    return located(logits, batch);
  }
  if (task_ == Task::token_classification) return classify_tokens(hidden_states, score, batch);
  return classify_sequences(hidden_states, score, batch);
}

/// The score at the last token of each sequence that is no padding.
ModelOutput GenericClassifier::classify_sequences(const Tensor& hidden_states, nn::Linear& score,
                                                  const Batch& batch) const {
  const Tensor logits = score(hidden_states);
  const std::int64_t count = batch.input_ids.size(0), length = batch.input_ids.size(1);
  const Tensor non_pad_mask = ghost::ne(batch.input_ids, ghost::kTokenId).to(DType::int32);
  const Tensor token_indices = ghost::arange(length, DType::int32);
  Tensor last_non_pad_token;
  {
    const Tensor places = token_indices.mul(non_pad_mask);
    last_non_pad_token = ghost::argmax(places);
  }
  Tensor pooled_logits;
  {
    const Tensor rows = ghost::arange(count, DType::int64);
    pooled_logits = ghost::index_pairs(logits, rows, last_non_pad_token);
  }
  return classified(std::move(pooled_logits), batch);
}

/// ForTokenClassification computes in float32.
ModelOutput GenericClassifier::classify_tokens(const Tensor& hidden_states, nn::Linear& score,
                                               const Batch& batch) {
  Tensor sequence_output = hidden_states;
  sequence_output = (*dropout_)(sequence_output);
  Tensor logits = score(sequence_output);
  if (!batch.labels.defined()) return {{}, std::move(logits)};
  if (!token_head_.in_float32) return classified(std::move(logits), batch);
  const Tensor flat = logits.view({-1, logits.size(-1)}).to_float();
  Tensor loss = ghost::cross_entropy(flat, batch.labels.view({-1}));
  return {std::move(loss), std::move(logits)};
}

}  // namespace memtape::family
