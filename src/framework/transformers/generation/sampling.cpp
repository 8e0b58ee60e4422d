// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/generation/sampling.h"

#include <utility>

#include "framework/transformers/generation/score_changes.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

namespace memtape::transformers {
void Sampling::decode() {
  unfinished_sequences_ = ghost::ones({sequences()}, DType::int64, Category::input);
  logits_ = prefill();
  for (std::int64_t made = 0; !failed(); logits_ = next_pass(made, Stage::decode)) {
    take_next_token(logits_);
    if (++made >= recipe_.max_new_tokens) break;
    logits_.reset();
  }
}

/// The arguments of the next pass, the choice of a token, and the stopping criteria.
void Sampling::take_next_token(const Tensor& logits) {
  lengthen_arguments();
  next_token_logits_ = copied_to_float(logits);
  next_token_scores_ = changed_scores(recipe_, so_far_.input_ids, next_token_logits_);
  if (recipe_.output_scores) returned_.push_back(next_token_scores_);
  if (recipe_.output_logits) returned_.push_back(next_token_logits_);
  if (recipe_.do_sample)
    draw();
  else
    next_tokens_ = ghost::argmax(next_token_scores_);
  if (recipe_.looks_for_eos) pad_finished();
  so_far_.input_ids = ghost::cat({so_far_.input_ids, next_tokens_.unsqueeze(-1)}, -1);
  look_for_the_end();
}

/// probs = softmax(next_token_scores); next_tokens = multinomial(probs, 1).squeeze(1)
void Sampling::draw() {
  probs_ = ghost::softmax(next_token_scores_, DType::float32);
  next_tokens_ = draw_one(probs_);
}

/// next_tokens * unfinished_sequences + pad_token_id * (1 - unfinished_sequences)
void Sampling::pad_finished() {
  const Tensor kept = next_tokens_.mul(unfinished_sequences_);
  const Tensor finished = ghost::rsub(1.0, unfinished_sequences_);
  next_tokens_ = kept.add(finished.mul(pad_token_));
}

/// unfinished_sequences & ~stopping_criteria(...), and whether its max() is 0.
void Sampling::look_for_the_end() {
  {
    const Tensor goes_on = ghost::bitwise_not(stopping_criteria(
        sequences(), recipe_.looks_for_eos, recipe_.asks_confidence ? returned_.back() : Tensor()));
    const ghost::Op op("bitwise_and", {});
    unfinished_sequences_ = ghost::empty({sequences()}, DType::int64);
  }
  const Tensor none_left = ghost::eq(ghost::max_all(unfinished_sequences_), 0);
}

}  // namespace memtape::transformers
