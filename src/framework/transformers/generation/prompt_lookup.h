// SPDX-License-Identifier: Apache-2.0
// PromptLookup: candidates are what followed the last tokens where they stood before
// (PromptLookupCandidateGenerator). Every lookup is taken to find all it may: the most that it can
// take.
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
