// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/generation/assisted_decoding.h"

#include <algorithm>
#include <utility>

#include "framework/transformers/generation/score_changes.h"
#include "framework/transformers/generation/speculative_sampling.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/reductions.h"

namespace memtape::transformers {

AssistedDecoding::AssistedDecoding(family::PretrainedModel& model, const Config& config,
                                   const GenerateRecipe& recipe,
                                   std::unique_ptr<CandidateGenerator> generator)
    : Generation(model, config, recipe),
      generator_(std::move(generator)),
      max_length_(recipe.prompt_length + recipe.max_new_tokens) {}

void AssistedDecoding::decode() {
  generator_->begin(so_far_, has_bos());
  unfinished_sequences_ = ghost::ones({1}, DType::int64, Category::input);
  for (int round = 0; !failed() && length() < max_length_; ++round) {
    candidates_ = generator_->candidates(so_far_.input_ids);
    const std::int64_t proposed = candidates_.input_ids.size(1) - length();
    is_done_candidate_ = stopping_criteria(1, recipe_.looks_for_eos);
    verify(proposed, round);
    const std::int64_t matches = select_tokens(proposed);
    keep(proposed, matches);
    look_for_the_end();
  }
}

/// new_logits = outputs.logits.to(torch.float32), and as they were before the processors.
void AssistedDecoding::verify(std::int64_t proposed, int round) {
  logits_ = candidate_pass(candidates_.input_ids, round);
  new_logits_ = logits_.to_float();
  next_token_logits_ = new_logits_.clone();
  change_scores(proposed);
  if (recipe_.output_scores) returned_.push_back(new_logits_);
  if (recipe_.output_logits) returned_.push_back(next_token_logits_);
}

/// Token by token; what is made is written over the logits.
void AssistedDecoding::change_scores(std::int64_t proposed) {
  for (std::int64_t i = 0; i <= proposed; ++i)
    changed_scores(recipe_, candidates_.input_ids.slice(1, 0, length() + i),
                   new_logits_.slice(1, i, i + 1).squeeze(1));
}

/// What would end the generation is no candidate that is kept, and no token is beyond its length.
std::int64_t AssistedDecoding::select_tokens(std::int64_t proposed) {
  const bool is_done = length() + proposed >= max_length_;
  std::int64_t matches = is_done && proposed > 0 ? proposed - 1 : proposed;
  matches = std::min(matches, max_length_ - length() - 1);
  if (recipe_.do_sample && candidates_.logits.defined())
    valid_tokens_ = speculative_sampling(candidates_, new_logits_, matches);
  else
    select_by_comparison(proposed, matches);
  return matches;
}

void AssistedDecoding::select_by_comparison(std::int64_t proposed, std::int64_t matches) {
  if (recipe_.do_sample) {
    probs_ = ghost::softmax(new_logits_, DType::float32);
    selected_tokens_ = draw_one(probs_.squeeze(0)).unsqueeze(0);
  } else {
    selected_tokens_ = ghost::argmax(new_logits_);
  }
  candidate_new_tokens_ = candidates_.input_ids.slice(1, length(), length() + proposed);
  if (proposed > 0) {
    const Tensor differ = ghost::bitwise_not(ghost::full({1, proposed}, DType::boolean));
    const Tensor counted = ghost::cumsum(differ);
    const Tensor are_first = ghost::lt(counted, 1);
    n_matches_ = ghost::full({}, DType::int64);
  }
  valid_tokens_ = selected_tokens_.slice(1, 0, matches + 1);
}

void AssistedDecoding::keep(std::int64_t proposed, std::int64_t matches) {
  so_far_.input_ids = ghost::cat({so_far_.input_ids, valid_tokens_}, -1);
  cache_.crop(proposed - matches);
  if (matches == proposed) generator_->all_matched();
  lengthen_arguments(matches + 1);
}

/// unfinished_sequences & ~stopping_criteria(...), and whether its max() is 0.
void AssistedDecoding::look_for_the_end() {
  {
    const Tensor goes_on = ghost::bitwise_not(stopping_criteria(1, recipe_.looks_for_eos));
    const ghost::Op op("bitwise_and", {});
    unfinished_sequences_ = ghost::empty({1}, DType::int64);
  }
  const Tensor none_left = ghost::eq(ghost::max_all(unfinished_sequences_), 0);
}

}  // namespace memtape::transformers
