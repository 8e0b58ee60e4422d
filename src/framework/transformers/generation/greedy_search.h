// SPDX-License-Identifier: Apache-2.0
// GreedySearch: _sample of GenerationMixin without sampling: the likeliest token of each sequence.
#pragma once

#include "framework/transformers/generation/generation.h"

namespace memtape::transformers {

class GreedySearch final : public Generation {
 public:
  using Generation::Generation;

 private:
  void decode() override;
  void take_next_token(const Tensor& logits);
  void look_for_the_end();

  Tensor unfinished_sequences_, next_token_logits_, next_tokens_;
  Tensor logits_;  ///< of the last pass
};

}  // namespace memtape::transformers
