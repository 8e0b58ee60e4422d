// SPDX-License-Identifier: Apache-2.0
// The head of the families whose body is called `transformer` (gpt2, gptj, bloom, falcon, mpt):
// hidden states, logits, loss. The body is made with (scope, settings) and names its token table as
// transformers does: get_input_embeddings(), whose width is the head's.
#pragma once

#include "family/forward_arguments.h"
#include "family/loss.h"
#include "nn/layers.h"

namespace memtape::family {

template <class Body, bool head_has_bias = false>
class TransformerForCausalLM : public PretrainedModel {
 public:
  template <class Settings>
  TransformerForCausalLM(const Settings& c, const ModelOptions& options)
      : PretrainedModel(options),
        vocab_size_(c.vocab_size),
        transformer_(root() / "transformer", c),
        lm_head_(root() / "lm_head", transformer_.get_input_embeddings().weight.size(1),
                 c.vocab_size, head_has_bias) {
    if (c.tie_word_embeddings) nn::tie(lm_head_, transformer_.get_input_embeddings().weight);
  }

  Tensor last_hidden_state(const Batch& batch) override {
    return transformer_(batch.input_ids, batch.attention_mask);
  }
  nn::Projection* head() override { return &lm_head_; }

  ModelOutput forward(const Batch& batch) override {
    const Tensor hidden_states = last_hidden_state(batch);
    Tensor logits = lm_head_(kept_for_logits(hidden_states));
    Tensor loss = causal_lm_loss(logits, batch, vocab_size_);
    return {std::move(loss), std::move(logits)};
  }

 private:
  std::int64_t vocab_size_;
  Body transformer_;
  nn::Linear lm_head_;
};

}  // namespace memtape::family
