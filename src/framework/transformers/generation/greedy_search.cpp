// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/generation/greedy_search.h"

#include <utility>

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reduce_kernel.h"
#include "ghost/ops/reductions.h"

namespace memtape::transformers {
namespace {

/// A partial result is a value and where it was found (ReduceArgMaxKernel.cu).
Tensor argmax(const Tensor& scores) {
  constexpr Bytes kValueAndPlace = 16;
  const ghost::Op op("argmax", {});
  Tensor found = ghost::empty({scores.size(0)}, DType::int64);
  ghost::reduce_scratch(scores, ghost::dim_set(1), DType::int64, kValueAndPlace);
  return found;
}

}  // namespace

void GreedySearch::decode() {
  unfinished_sequences_ = ghost::ones({sequences()}, DType::int64, Category::input);
  logits_ = prefill();
  for (std::int64_t made = 0; !failed(); logits_ = next_pass(made, Stage::decode)) {
    take_next_token(logits_);
    if (++made >= recipe_.max_new_tokens) break;
    logits_.reset();
  }
}

/// The arguments of the next pass, the greedy choice, and the stopping criteria.
void GreedySearch::take_next_token(const Tensor& logits) {
  lengthen_arguments();
  next_token_logits_ = copied_to_float(logits);
  next_tokens_ = argmax(next_token_logits_);
  so_far_.input_ids = ghost::cat({so_far_.input_ids, next_tokens_.unsqueeze(-1)}, -1);
  look_for_the_end();
}

/// unfinished_sequences & ~stopping_criteria(...), and whether its max() is 0.
void GreedySearch::look_for_the_end() {
  {
    const Tensor goes_on = ghost::plain_unary("bitwise_not", stopping_criteria(sequences()));
    const ghost::Op op("bitwise_and", {});
    unfinished_sequences_ = ghost::empty({sequences()}, DType::int64);
  }
  const Tensor none_left = ghost::comparison("eq", ghost::max_all(unfinished_sequences_));
}

}  // namespace memtape::transformers
