// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/generation/beam_search.h"

#include <utility>

#include "framework/transformers/generation/score_changes.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/iterator.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reduce_kernel.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "ghost/ops/unary.h"

namespace memtape::transformers {
namespace {

Tensor bools(const ghost::Dims& sizes) { return ghost::full(sizes, DType::boolean); }

/// A condition * -1.0e9: a Python number makes it float32.
Tensor times_number(const Tensor& condition) {
  const ghost::Op op("mul", {});
  return ghost::empty(condition.sizes(), DType::float32);
}

/// condition.to(torch.float32) * -1.0e9
Tensor penalty(const ghost::In& condition) {
  const Tensor numbers = condition->to_float();
  condition.release();
  return numbers.mul(-1.0e9);
}

/// torch.all(x, -1, keepdim=True), torch.any(...)
Tensor reduced_to_bool(const char* name, const Tensor& x) {
  const ghost::Op op(name, {});
  const int last = x.dim() - 1;
  Tensor found = ghost::empty(x.sizes().leading().with(1), DType::boolean);
  ghost::reduce_scratch(x, ghost::dim_set(last), DType::boolean);
  return found;
}

/// [B, beams, ...] with the two leading dimensions as one.
Tensor flatten_beam_dim(const Tensor& x) {
  return x.dim() == 2 ? x.reshape({-1}) : x.reshape({-1, x.size(2)});
}

/// The indices of torch.topk: the values are dropped.
Tensor top_indices(const Tensor& scores, std::int64_t k) { return ghost::topk(scores, k).second; }

}  // namespace

BeamSearch::BeamSearch(family::PretrainedModel& model, const Config& config,
                       const GenerateRecipe& recipe)
    : Generation(model, config, recipe),
      beams_(recipe.num_beams),
      kept_(2 * recipe.num_beams),
      total_length_(recipe.prompt_length + recipe.max_new_tokens),
      vocabulary_(0),
      current_length_(recipe.prompt_length) {}

void BeamSearch::decode() {
  place();
  flat_sequences_ = so_far_.input_ids;
  Tensor logits = prefill();
  vocabulary_ = logits.size(-1);
  while (!failed()) {
    choose(std::move(logits));
    ++current_length_;
    check_early_stop();
    look_for_the_end();
    const std::int64_t made = current_length_ - recipe_.prompt_length;
    if (made >= recipe_.max_new_tokens) break;
    flat_sequences_ = flatten_beam_dim(running_.sequences.slice(2, 0, current_length_));
    so_far_.input_ids = flat_sequences_;
    logits = next_pass(made, Stage::prefill);  // the model is not set up for single tokens
  }
}

/// Running tensors and static-shaped placeholders.
void BeamSearch::place() {
  const std::int64_t batch = recipe_.batch_size;
  const ghost::Dims each{batch, beams_};
  top_beam_mask_ = bools({kept_});
  running_.sequences = ghost::full({batch, beams_, total_length_}, DType::int64);
  finished_.sequences = running_.sequences.clone();
  running_.scores = ghost::zeros(each, DType::float32);
  finished_.scores = ghost::full(each, DType::float32);
  is_finished_ = bools(each);
  may_improve_ = bools({batch, 1});
  hits_criteria_ = bools(each);
  running_.indices = ghost::full({batch, beams_, recipe_.max_new_tokens}, DType::int32);
  finished_.indices = running_.indices.clone();
}

/// What follows a pass: the best continuations, which of them go on and which are finished, and the
/// cache of those that go on.
void BeamSearch::choose(Tensor logits) {
  const std::int64_t batch = recipe_.batch_size;
  lengthen_arguments();
  logits_ = copied_to_float(logits);
  log_probs_ = ghost::log_softmax(logits_, DType::float32);
  logits.reset();
  log_probs_ = changed_scores(recipe_, flat_sequences_, log_probs_);
  log_probs_ = log_probs_.view({batch, beams_, vocabulary_}).add(running_.scores.unsqueeze(-1));
  log_probs_ = log_probs_.view({batch, beams_ * vocabulary_});
  top_ = top_continuations(log_probs_);
  {
    const Tensor sequences = flatten_beam_dim(top_.sequences.slice(2, 0, current_length_ + 1));
    hits_criteria_ = stopping_criteria(batch * kept_, recipe_.looks_for_eos).view({batch, kept_});
  }
  running_ = running_beams(top_, hits_criteria_);
  update_finished(top_);
  beam_idx_ = flatten_beam_dim(running_.indices.select(2, current_length_));
  cache_.reorder(beam_idx_);
}

/// _get_top_k_continuations
BeamSearch::Beams BeamSearch::top_continuations(const Tensor& log_probs) const {
  auto [topk_log_probs, topk_indices] = ghost::topk(log_probs, kept_);
  const Tensor current_beams = ghost::floor_divide(topk_indices, vocabulary_);
  Tensor beam_indices = ghost::take_along_rows(running_.indices, current_beams);
  Tensor sequences = ghost::take_along_rows(running_.sequences, current_beams);
  const Tensor topk_ids = ghost::remainder(topk_indices, vocabulary_);
  const Tensor batch_offset =
      ghost::arange(recipe_.batch_size, DType::int64).view({-1, 1}).mul(2.0);
  const Tensor batch_modified_indices = current_beams.add(batch_offset);
  return {std::move(sequences), std::move(topk_log_probs), std::move(beam_indices)};
}

/// _get_running_beams_for_next_iteration
BeamSearch::Beams BeamSearch::running_beams(const Beams& top, const Tensor& hits_criteria) const {
  const Tensor log_probs = top.scores.add(penalty(hits_criteria));
  const Tensor next = top_indices(log_probs, beams_);
  Tensor sequences = ghost::take_along_rows(top.sequences, next);
  Tensor scores = ghost::take_along_rows(log_probs, next);
  Tensor indices = ghost::take_along_rows(top.indices, next);
  return {std::move(sequences), std::move(scores), std::move(indices)};
}

/// _update_finished_beams
void BeamSearch::update_finished(const Beams& top) {
  const Tensor just_finished = ghost::bitwise_and(hits_criteria_, top_beam_mask_.unsqueeze(0));
  const Tensor log_probs = top.scores.div(2.0);
  const Tensor are_full = ghost::bitwise_and(reduced_to_bool("all", is_finished_), true);
  ghost::add_(log_probs, penalty(are_full));
  ghost::add_(log_probs, penalty(ghost::bitwise_not(may_improve_)));
  {
    const Tensor still_running = ghost::bitwise_not(just_finished);
    ghost::add_(log_probs, times_number(still_running));
  }
  const Tensor sequences = ghost::cat({finished_.sequences, top.sequences}, 1);
  const Tensor scores = ghost::cat({finished_.scores, log_probs}, 1);
  const Tensor indices = ghost::cat({finished_.indices, top.indices}, 1);
  const Tensor is_finished = ghost::cat({is_finished_, just_finished}, 1);
  const Tensor best = top_indices(scores, beams_);
  Tensor best_sequences = ghost::take_along_rows(sequences, best);
  Tensor best_scores = ghost::take_along_rows(scores, best);
  Tensor best_indices = ghost::take_along_rows(indices, best);
  Tensor best_is_finished = ghost::take_along_rows(is_finished, best);
  finished_ = {std::move(best_sequences), std::move(best_scores), std::move(best_indices)};
  is_finished_ = std::move(best_is_finished);
}

/// _check_early_stop_heuristic; the number that torch.where takes moves to the device.
void BeamSearch::check_early_stop() {
  const Tensor best_running = running_.scores.slice(1, 0, 1).div(2.0);
  Tensor worst_finished;
  {
    const Tensor least = [&] {
      const ghost::Op op("min", {});
      Tensor values = ghost::empty({recipe_.batch_size, 1}, DType::float32);
      const Tensor places = ghost::empty({recipe_.batch_size, 1}, DType::int64);
      return values;
    }();
    const Tensor number = ghost::full({}, DType::float32);
    worst_finished = ghost::where(is_finished_, least, number);
  }
  Tensor any_better;
  {
    const Tensor is_better = ghost::gt(best_running, worst_finished);
    any_better = reduced_to_bool("any", is_better);
  }
  may_improve_ = ghost::bitwise_and(may_improve_, any_better);
}

/// _beam_search_has_unfinished_sequences
void BeamSearch::look_for_the_end() {
  const Tensor improvement_possible = ghost::any(may_improve_);
  const Tensor exists_open_beam =
      ghost::bitwise_not(ghost::bitwise_and(ghost::all(is_finished_), true));
  const Tensor valid_continuations = ghost::bitwise_not(ghost::all(hits_criteria_));
  const Tensor both = ghost::bitwise_and(improvement_possible, exists_open_beam);
  const Tensor goes_on = ghost::bitwise_and(both, valid_continuations);
}

}  // namespace memtape::transformers
