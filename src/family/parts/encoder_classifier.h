// SPDX-License-Identifier: Apache-2.0
// Encoders with the heads of classifiers.h. The family supplies the body and the layers between the
// last hidden states and the logits.
#pragma once

#include <functional>
#include <memory>

#include "family/parts/classifiers.h"
#include "nn/activations.h"

namespace memtape::family {

/// Makes logits from the last hidden states. `features` is the forward's local variable, which
/// lives until the loss is computed: it holds the hidden states first, then what the head makes of
/// them. The batch's attention mask may be undefined.
class ClassifierHead {
 public:
  ClassifierHead() = default;
  virtual ~ClassifierHead() = default;
  ClassifierHead(const ClassifierHead&) = delete;
  ClassifierHead& operator=(const ClassifierHead&) = delete;
  virtual Tensor logits(Tensor& features, const Tensor& attention_mask) = 0;
  /// What the body itself pools of its last hidden states, for `logits`; undefined if it does not.
  virtual Tensor pooled(const Tensor&) { return {}; }
  /// The output for sequences and tokens, with their loss.
  virtual ModelOutput output(Tensor logits, const Batch& batch);
};

/// Makes of [B, S, H] the mean over the tokens that are there, or the first token (classifier_pooling
/// of ModernBERT and UltraBERT, which make a mask if they got none).
void pool_tokens(Tensor& last_hidden_state, const Tensor& given_mask, bool takes_mean);

struct ClassifierWidths {
  std::int64_t hidden_size, num_labels;
  double dropout;
};

/// For models whose classifier_dropout defaults to hidden_dropout_prob. No dropout runs before
/// qa_outputs.
ClassifierWidths classifier_widths(const ModelOptions& options, std::int64_t hidden_size,
                                   double hidden_dropout_prob);

/// `dropout` and `classifier` over every token.
class TokenClassifier final : public ClassifierHead {
 public:
  TokenClassifier(const nn::Scope& root, const ClassifierWidths& widths);
  Tensor logits(Tensor& features, const Tensor& attention_mask) override;

 private:
  nn::Dropout dropout_;
  nn::Linear classifier_;
};

/// `qa_outputs`. DistilBERT has a dropout before it, the others do not.
class AnswerLocator final : public ClassifierHead {
 public:
  AnswerLocator(const nn::Scope& root, const ClassifierWidths& widths);
  Tensor logits(Tensor& features, const Tensor& attention_mask) override;

 private:
  nn::Linear qa_outputs_;
  std::optional<nn::Dropout> dropout_;
};

/// The heads for tokens and answers, which are alike in most encoders.
std::unique_ptr<ClassifierHead> make_token_head(const nn::Scope& root, Task task,
                                                const ClassifierWidths& widths);

/// The pooler of a body: a module with a projection (BERT), or the projection itself (ALBERT).
enum class Pooler { module, projection };

/// The pooler of the body, then `dropout` and `classifier`, over the first token.
class PooledClassifier final : public ClassifierHead {
 public:
  PooledClassifier(const nn::Scope& root, const nn::Scope& body, const ClassifierWidths& widths,
                   Pooler pooler = Pooler::module);
  Tensor logits(Tensor& features, const Tensor& attention_mask) override;
  Tensor pooled(const Tensor& hidden_states) override;

 private:
  nn::Scope pooler_;
  nn::Linear dense_;
  TokenClassifier classifier_;
};

/// RobertaClassificationHead, and ELECTRA's with another activation.
class DenseClassifier final : public ClassifierHead {
 public:
  DenseClassifier(const nn::Scope& root, const ClassifierWidths& widths,
                  std::string_view activation);
  Tensor logits(Tensor& features, const Tensor& attention_mask) override;

 private:
  nn::Scope classifier_;
  nn::Linear dense_;
  nn::Activation activation_;
  nn::Dropout dropout_;
  nn::Linear out_proj_;
};

/// The heads of RoBERTa: a DenseClassifier for sequences, a PooledClassifier for choices.
std::unique_ptr<ClassifierHead> make_dense_head(const nn::Scope& root, const nn::Scope* body,
                                                const ModelOptions& options,
                                                const ClassifierWidths& widths);

/// A body of texts [rows, tokens], and a head. `Body` is made with (scope, settings...).
template <class Body>
class EncoderForClassification final : public PretrainedModel {
 public:
  using MakeHead = std::function<std::unique_ptr<ClassifierHead>(
      const nn::Scope& root, const nn::Scope* body, const ModelOptions& options,
      const ClassifierWidths& widths)>;

  template <class... Settings>
  EncoderForClassification(const ModelOptions& options, const ClassifierWidths& widths,
                           const MakeHead& make_head, MadeFirst first, const char* name,
                           const Settings&... settings)
      : PretrainedModel(options), task_(options.task) {
    if (first == MadeFirst::head) head_ = make_head(root(), nullptr, options, widths);
    body_.emplace(root() / name, settings...);
    if (first == MadeFirst::head) return;
    const nn::Scope body(tree, body_->node());
    head_ = make_head(root(), &body, options, widths);
  }

  std::string_view output_embeddings() const override { return {}; }
  SampleSizes sample_sizes(std::int64_t sequence_length) const override {
    return classifier_sample(task_, sequence_length);
  }

  ModelOutput forward(const Batch& batch) override {
    const Tensor attention_mask = rows(batch.attention_mask);
    Tensor pooler_output;
    const Tensor sequence_output =
        sequence_output_of(rows(batch.input_ids), attention_mask, pooler_output);
    Tensor features = pooler_output.defined() ? pooler_output : sequence_output;
    Tensor logits = head_->logits(features, attention_mask);
    if (task_ == Task::question_answering) return located(logits, batch);
    if (task_ == Task::multiple_choice)
      logits = std::move(logits).view({-1, batch.input_ids.size(1)});
    return head_->output(std::move(logits), batch);
  }

 private:
  /// The body's frame still holds what it began with while it pools.
  Tensor sequence_output_of(const Tensor& input_ids, const Tensor& attention_mask,
                            Tensor& pooler_output) {
    const std::function<void(const Tensor&)> pool = [&](const Tensor& hidden_states) {
      pooler_output = head_->pooled(hidden_states);
    };
    if constexpr (requires { body_->forward(input_ids, attention_mask, pool); })
      return (*body_)(input_ids, attention_mask, pool);
    Tensor hidden_states = (*body_)(input_ids, attention_mask);
    pool(hidden_states);
    return hidden_states;
  }

  /// Texts to choose from become so many rows.
  Tensor rows(const Tensor& texts) const {
    if (task_ != Task::multiple_choice || !texts.defined()) return texts;
    return texts.view({-1, texts.size(-1)});
  }

  Task task_;
  std::optional<Body> body_;
  std::unique_ptr<ClassifierHead> head_;
};

}  // namespace memtape::family
