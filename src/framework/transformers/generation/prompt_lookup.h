// SPDX-License-Identifier: Apache-2.0
// PromptLookup: the candidates are the tokens that followed an earlier occurrence of the last
// tokens (PromptLookupCandidateGenerator). Every lookup is assumed to find as many as it may, which
// takes the most memory.
#pragma once

#include "framework/transformers/generate.h"
#include "framework/transformers/generation/candidates.h"

namespace memtape::transformers {

class PromptLookup final : public CandidateGenerator {
 public:
  PromptLookup(const GenerateRecipe& recipe, std::int64_t vocab_size)
      : recipe_(recipe), vocab_size_(vocab_size) {}
  Candidates candidates(const ghost::Tensor& input_ids) override;

 private:
  void ask_the_processors(const ghost::Tensor& input_ids, const ghost::Tensor& chosen_ids) const;

  const GenerateRecipe& recipe_;
  std::int64_t vocab_size_;
};

}  // namespace memtape::transformers
