// SPDX-License-Identifier: Apache-2.0
// Encoders under their masked-language-model head: a body that ties its word embeddings to the
// head's decoder (BERT, RoBERTa, ALBERT, DeBERTa-v2, ESM; transformers 5.17, models/FAMILY).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "family/losses/loss.h"
#include "family/pretrained.h"

namespace memtape::family {

/// The names of body and head in the class; the head's may lie inside another module
/// ("cls.predictions").
struct MaskedLmNames {
  const char* body;
  std::string_view head;
};

template <class Body, class Head>
class EncoderForMaskedLM final : public PretrainedModel {
 public:
  template <class Settings>
  EncoderForMaskedLM(const Settings& c, const ModelOptions& options, const MaskedLmNames& names,
                     MadeFirst first = MadeFirst::body)
      : PretrainedModel(options),
        vocab_size_(c.vocab_size),
        decoder_(std::string(names.head) + ".decoder") {
    if (first == MadeFirst::head) head_.emplace(head_scope(names.head), c);
    body_.emplace(root() / names.body, c);
    if (first == MadeFirst::body) head_.emplace(head_scope(names.head), c);
    if (c.tie_word_embeddings) head_->tie(body_->embeddings.word_embeddings.weight);
  }

  std::string_view output_embeddings() const override { return decoder_; }

  ModelOutput forward(const Batch& batch) override {
    const Tensor sequence_output = (*body_)(batch.input_ids, batch.attention_mask);
    Tensor prediction_scores = (*head_)(sequence_output);
    Tensor loss = masked_lm_loss(prediction_scores, batch, vocab_size_);
    return {std::move(loss), std::move(prediction_scores)};
  }

 private:
  nn::Scope head_scope(std::string_view path) {
    nn::Scope scope = root();
    for (std::size_t dot; (dot = path.find('.')) != path.npos; path.remove_prefix(dot + 1))
      scope = scope / path.substr(0, dot);
    return scope / path;
  }

  std::int64_t vocab_size_;
  std::string decoder_;
  std::optional<Body> body_;
  std::optional<Head> head_;
};

}  // namespace memtape::family
