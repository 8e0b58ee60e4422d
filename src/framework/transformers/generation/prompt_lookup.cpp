// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/generation/prompt_lookup.h"

#include <algorithm>

#include "framework/transformers/generation/score_changes.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"

namespace memtape::transformers {

using ghost::Tensor;

/// Of each candidate it is asked whether the logits processors forbid it, by scores made up for it.
void PromptLookup::ask_the_processors(const Tensor& input_ids, const Tensor& chosen_ids) const {
  Tensor sequence = input_ids;
  const Tensor fake_input_logits = ghost::ones({1, vocab_size_}, DType::float32);
  Tensor fake_output_logits;
  for (std::int64_t i = 0; i < chosen_ids.size(1); ++i) {
    fake_output_logits = changed_scores(recipe_, sequence, fake_input_logits);
    sequence = ghost::cat({input_ids, chosen_ids.slice(1, 0, i + 1)}, 1);
  }
}

Candidates PromptLookup::candidates(const Tensor& input_ids) {
  constexpr std::int64_t kLongestMatch = 2;  // max_matching_ngram_size
  const std::int64_t length = input_ids.size(1),
                     max_length = recipe_.prompt_length + recipe_.max_new_tokens;
  if (max_length == length + 1) return {input_ids, {}};
  const std::int64_t ngram = std::min(kLongestMatch, length - 1);
  if (ngram < 1) return {input_ids, {}};
  const std::int64_t windows = length - ngram + 1;
  Tensor matches;
  {
    const Tensor equal = ghost::full({1, windows, ngram}, DType::boolean);
    matches = ghost::full({1, windows}, DType::boolean);
  }
  const Tensor match_indices = ghost::nonzero(matches, windows);
  const Tensor start_idx = ghost::full({}, DType::int64), end_idx = ghost::full({}, DType::int64);
  const std::int64_t end =
      std::min({ngram + *recipe_.prompt_lookup_num_tokens, length, max_length});
  if (end <= ngram) return {input_ids, {}};
  const Tensor chosen_ids = input_ids.slice(1, ngram, end);
  ask_the_processors(input_ids, chosen_ids);
  return {ghost::cat({input_ids, chosen_ids}, 1), {}};
}

}  // namespace memtape::transformers
