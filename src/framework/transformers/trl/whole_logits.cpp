// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trl/whole_logits.h"

#include <algorithm>

#include "framework/transformers/trl/logprob_entropy.h"
#include "framework/transformers/trl/pair.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sum_of_bools.h"
#include "ghost/session.h"
#include "release/trl_changes.h"

namespace memtape::transformers::trl {
namespace {

using ghost::Tensor;

/// entropy_from_logits works on 128 rows at a time.
void take_entropy(const Tensor& logits) {
  constexpr std::int64_t kRows = 128;
  const ghost::Dims chunk{std::min(kRows, logits.numel() / logits.size(-1)), logits.size(-1)};
  const ghost::Op op("_log_softmax", {});
  const auto rows = [&] { return ghost::empty(chunk, logits.dtype()); };
  const Tensor logps = rows(), exponential = rows(), product = rows();
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

FusedOutput whole_logits_forward(const PreparedModel& model, const family::Batch& inputs,
                                 FusedCount count, PreparedModel::Callee callee) {
  family::Batch without_labels = inputs;
  without_labels.labels.reset();
  const Tensor logits = callee == PreparedModel::Callee::model
                            ? model.unwrapped(without_labels).logits
                            : model(without_labels).logits;
  const bool shifts = ghost::has(changes::kTrlShiftsLogits);
  const Tensor scored = shifts ? logits.slice(1, 0, -1).contiguous() : logits;
  const Tensor shifted = inputs.labels.slice(1, 1, inputs.labels.size(1)).contiguous();
  const Tensor rolled = shifts ? shifted : inputs.labels.clone();  // torch.roll(labels, -1)
  FusedOutput out;
  out.label_mask = ghost::ne(shifted, ghost::kIgnoreIndex);
  out.log_probs = selective_log_softmax(scored, rolled);
  if (!shifts) out.log_probs = out.log_probs.slice(1, 0, -1);
  const ghost::GradMode no_grad(false);
  const auto numbers = [&](bool wanted, DType dtype) {
    return wanted ? ghost::empty(shifted.sizes(), dtype) : Tensor();
  };
  if (count.outputs.entropy && shifts) take_entropy(scored);
  if (count.outputs.mean_logits && rolled.size(0) % 2 == 0) {
    const Tensor counted = ghost::ne(rolled, ghost::kIgnoreIndex);
    take_mean_logits(scored.detach(), counted, count.scored);
  }
  out.entropy = numbers(count.outputs.entropy, DType::float32);
  out.mean_logits = numbers(count.outputs.mean_logits, DType::float32);
  out.is_top1 = numbers(count.outputs.is_top1, DType::boolean);
  return out;
}

Tensor entropy_of_logits(const Tensor& logits) {
  const ghost::GradMode no_grad(false);
  if (!ghost::has(changes::kTrlFusesLogSoftmax)) take_entropy(logits);
  return ghost::empty(logits.sizes().leading(), DType::float32);
}

void log_metrics_of_logits(const Tensor& logits, const Tensor& labels) {
  if (!logits.defined() || !ghost::has(changes::kTrlCountsAccuracy)) return;
  const ghost::GradMode no_grad(false);
  if (ghost::has(changes::kTrlCheckpoints)) take_entropy(logits);
  const Tensor shift_logits = logits.slice(1, 0, -1).contiguous();
  const Tensor shift_labels = labels.slice(1, 1, labels.size(1)).contiguous();
  const Tensor predictions = ghost::argmax(shift_logits);
  const Tensor mask = ghost::ne(shift_labels, ghost::kIgnoreIndex);
  const Tensor correct = sum_of_bools(mask);
}

}  // namespace memtape::transformers::trl
