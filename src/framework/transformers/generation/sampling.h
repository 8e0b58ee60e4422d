// SPDX-License-Identifier: Apache-2.0
// Sampling: _sample of GenerationMixin. It takes the most likely token of each sequence or, with
// do_sample, draws one.
#pragma once

#include <vector>

#include "framework/transformers/generation/generation.h"

namespace memtape::transformers {

class Sampling final : public Generation {
 public:
  using Generation::Generation;

  /// The scores of return_dict_in_generate, one tensor for each token.
  const std::vector<Tensor>& scores() const { return returned_; }

 private:
  void decode() override;
  void take_next_token(const Tensor& logits);
  void draw();
  void pad_finished();
  void look_for_the_end();

  Tensor unfinished_sequences_, next_token_logits_, next_token_scores_, probs_, next_tokens_;
  Tensor logits_;                 ///< those of the last pass
  std::vector<Tensor> returned_;  ///< scores and logits, one tensor for each token
};

}  // namespace memtape::transformers
