// SPDX-License-Identifier: Apache-2.0
// The heads of the older decoders (gpt2, gptj, bloom, falcon, mpt, gpt_neox, opt): hidden states,
// logits, loss, of language models and of the classifiers that each has in classes of its own. The
// body is made with (scope, settings) and names its token table as transformers does:
// get_input_embeddings(), whose width is the head's. It may say otherwise what the model calls it
// (kAttribute), and what its classifier of tokens is (kTokenHead).
#pragma once

#include "family/losses/loss.h"
#include "family/parts/classifiers.h"
#include "family/parts/forward_arguments.h"
#include "nn/layers.h"

namespace memtape::family {

template <class Body, bool head_has_bias = false>
class TransformerForCausalLM : public PretrainedModel {
 public:
  template <class Settings>
  TransformerForCausalLM(const Settings& c, const ModelOptions& options)
      : PretrainedModel(options),
        task_(options.task),
        vocab_size_(c.vocab_size),
        transformer_(root() / attribute(), c),
        classifier_(GenericClassifier::made(root(), options, token_head())),
        lm_head_(root() / output_embeddings(), transformer_.get_input_embeddings().weight.size(1),
                 classifier_ ? classifier_->width() : c.vocab_size,
                 classifier_ ? classifier_->has_bias() : head_has_bias) {
    if (c.tie_word_embeddings && !classifier_)
      nn::tie(lm_head_, transformer_.get_input_embeddings().weight);
  }

  Tensor last_hidden_state(const Batch& batch) override {
    return transformer_(batch.input_ids, batch.attention_mask);
  }
  nn::Projection* head() override { return &lm_head_; }
  std::string_view output_embeddings() const final {
    return classifier_ ? classifier_->name() : "lm_head";
  }
  SampleSizes sample_sizes(std::int64_t sequence_length) const override {
    return classifier_ ? classifier_sample(task_, sequence_length)
                       : PretrainedModel::sample_sizes(sequence_length);
  }

  ModelOutput forward(const Batch& batch) override {
    const Tensor hidden_states = last_hidden_state(batch);
    if (classifier_) return (*classifier_)(hidden_states, lm_head_, batch);
    Tensor logits = lm_head_(kept_for_logits(hidden_states, this->model_type));
    Tensor loss = causal_lm_loss(logits, batch, vocab_size_, this->model_type);
    if constexpr (requires { Body::kCastsLossUntil; })
      if (!ghost::has(Body::kCastsLossUntil) && loss.defined()) {
        if constexpr (requires { Body::kCastsLogitsToo; })
          logits = logits.to(hidden_states.dtype());
        loss = loss.to(hidden_states.dtype());
      }
    return {std::move(loss), std::move(logits)};
  }

 private:
  static constexpr const char* attribute() {
    if constexpr (requires { Body::kAttribute; })
      return Body::kAttribute;
    else
      return "transformer";
  }
  static constexpr TokenHead token_head() {
    if constexpr (requires { Body::kTokenHead; })
      return Body::kTokenHead;
    else
      return {.name = "classifier", .in_float32 = false};
  }

  Task task_;
  std::int64_t vocab_size_;
  Body transformer_;
  std::optional<GenericClassifier> classifier_;
  nn::Linear lm_head_;
};

}  // namespace memtape::family
