// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trl/whole_logits.h"

#include <algorithm>
#include <vector>

#include "framework/transformers/trl/logprob_entropy.h"
#include "framework/transformers/trl/pair.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sum_of_bools.h"
#include "ghost/session.h"
#include "release/trl_changes.h"

namespace memtape::transformers::trl {
namespace {

using ghost::Tensor;

/// What entropy_from_logits takes of a chunk. Its probabilities in logarithms live until the next
/// chunk has its own.
Tensor entropy_of_chunk(const Tensor& chunk, Tensor& logps) {
  logps = ghost::log_softmax(chunk, chunk.dtype());
  return ghost::exp(logps).mul(logps).sum(-1).neg();
}

/// One sequence at a time, before kTrlFlattensForEntropy.
Tensor entropy_by_sequence(const Tensor& logits) {
  std::vector<Tensor> per_token_entropies;
  Tensor logps;
  for (std::int64_t row = 0; row < logits.size(0); ++row)
    per_token_entropies.push_back(entropy_of_chunk(logits.slice(0, row, row + 1), logps));
  return ghost::cat(per_token_entropies, 0);
}

/// 128 tokens at a time.
Tensor entropy_from_logits(const Tensor& logits) {
  if (!ghost::has(changes::kTrlFlattensForEntropy)) return entropy_by_sequence(logits);
  constexpr std::int64_t kRows = 128;
  const std::int64_t classes = logits.size(-1), rows = logits.numel() / classes;
  const Tensor flat_logits = logits.reshape({rows, classes});
  std::vector<Tensor> entropies;
  Tensor logps;
  for (std::int64_t row = 0; row < rows; row += kRows) {
    const Tensor chunk = flat_logits.slice(0, row, std::min(row + kRows, rows));
    entropies.push_back(entropy_of_chunk(chunk, logps));
  }
  return ghost::cat(entropies, 0).reshape(logits.sizes().leading());
}

/// The mean logit of each completion token: the logits of one half, picked by its mask.
void take_mean_logits(const Tensor& logits, const Tensor& mask, std::int64_t scored) {
  const Pair halves(logits), masks(mask);
  for (const auto& [half, counted] :
       {std::pair(halves.chosen, masks.chosen), std::pair(halves.rejected, masks.rejected)}) {
    const Tensor picked = ghost::index_by_mask(half, counted, scored / 2);
    ghost::sum_all(picked);
  }
}

}  // namespace

namespace {

/// x[:, ...] of DPOTrainer: a copy before kTrlCountsFromViews, and of the other trainers.
Tensor as_scored(const Tensor& view, const FusedCount& count) {
  const bool reads_views = count.keeps_logits && ghost::has(changes::kTrlCountsFromViews);
  return reads_views ? view : view.contiguous();
}

}  // namespace

FusedOutput whole_logits_forward(const PreparedModel& model, const family::Batch& inputs,
                                 FusedCount count, PreparedModel::Callee callee) {
  family::Batch without_labels = inputs;
  without_labels.labels.reset();
  const Tensor logits = callee == PreparedModel::Callee::model
                            ? model.unwrapped(without_labels).logits
                            : model(without_labels).logits;
  const bool shifts = ghost::has(changes::kTrlShiftsLogits);
  const Tensor scored = shifts ? as_scored(logits.slice(1, 0, -1), count) : logits;
  const Tensor shifted = as_scored(inputs.labels.slice(1, 1, inputs.labels.size(1)), count);
  const Tensor rolled = shifts ? shifted : inputs.labels.clone();  // torch.roll(labels, -1)
  FusedOutput out;
  if (!count.keeps_logits) out.label_mask = ghost::ne(shifted, ghost::kIgnoreIndex);
  out.log_probs = selective_log_softmax(scored, rolled);
  if (!shifts) out.log_probs = out.log_probs.slice(1, 0, -1);
  const bool keeps = count.keeps_logits && shifts;
  if (keeps) {
    out.logits = logits;
    out.scored_logits = scored;
    return out;
  }
  const ghost::GradMode no_grad(false);
  const auto numbers = [&](bool wanted, DType dtype) {
    return wanted ? ghost::empty(shifted.sizes(), dtype) : Tensor();
  };
  if (count.outputs.entropy && shifts) entropy_from_logits(scored);
  if (count.outputs.mean_logits && rolled.size(0) % 2 == 0) {
    const Tensor counted = ghost::ne(rolled, ghost::kIgnoreIndex);
    take_mean_logits(scored.detach(), counted, count.scored);
  }
  out.entropy = numbers(count.outputs.entropy, DType::float32);
  out.mean_logits = numbers(count.outputs.mean_logits, DType::float32);
  out.is_top1 = numbers(count.outputs.is_top1, DType::boolean);
  return out;
}

void log_kept_logits(FusedOutput& outputs, const Tensor& completion_mask, std::int64_t scored) {
  if (!outputs.scored_logits.defined()) return;
  const ghost::GradMode no_grad(false);
  const Tensor detached = outputs.scored_logits.detach();
  outputs.entropy = entropy_of_logits(detached);
  take_mean_logits(detached, completion_mask.to(DType::boolean), scored);
  outputs.mean_logits = ghost::empty(completion_mask.sizes(), DType::float32);
  outputs.is_top1 = ghost::empty(completion_mask.sizes(), DType::boolean);
}

Tensor entropy_of_logits(const Tensor& logits) {
  const ghost::GradMode no_grad(false);
  if (!ghost::has(changes::kTrlFusesLogSoftmax)) return entropy_from_logits(logits);
  return ghost::empty(logits.sizes().leading(), DType::float32);
}

void log_metrics_of_logits(const Tensor& logits, const Tensor& labels) {
  if (!logits.defined() || !ghost::has(changes::kTrlCountsAccuracy)) return;
  const ghost::GradMode no_grad(false);
  const bool copies = !ghost::has(changes::kTrlCountsFromViews);
  const auto as_counted = [copies](const Tensor& view) {
    return copies ? view.contiguous() : view;
  };
  const auto shifted_logits = [&] { return as_counted(logits.slice(1, 0, -1)); };
  const auto shifted_labels = [&] { return as_counted(labels.slice(1, 1, labels.size(1))); };
  Tensor shift_logits, shift_labels, per_token_entropy, mask, entropy_sum, total_tokens;
  if (ghost::has(changes::kTrlTakesEntropyOfShifted)) {
    shift_logits = shifted_logits();
    shift_labels = shifted_labels();
    per_token_entropy = entropy_of_logits(shift_logits);
    mask = ghost::ne(shift_labels, ghost::kIgnoreIndex);
    entropy_sum = ghost::sum_all(per_token_entropy.mul(mask));
    total_tokens = sum_of_bools(mask);
  } else if (ghost::has(changes::kTrlCheckpoints)) {
    per_token_entropy = entropy_of_logits(logits);
  }
  if (copies) {
    shift_logits = shifted_logits();
    shift_labels = shifted_labels();
  }
  const Tensor predictions = ghost::argmax(shift_logits);
  mask = ghost::ne(shift_labels, ghost::kIgnoreIndex);
  const Tensor correct = ghost::bitwise_and(ghost::eq(predictions, shift_labels), mask);
  const Tensor counted = sum_of_bools(mask), correct_tokens = sum_of_bools(correct);
}

}  // namespace memtape::transformers::trl
