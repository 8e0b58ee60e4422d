// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trl/kept_logits.h"

#include "family/parts/forward_arguments.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/view_in_place.h"
#include "release/trl_changes.h"

namespace memtape::transformers::trl {
namespace {

using ghost::Tensor;

/// What the model gives, which dies where a copy takes its place.
Tensor sliced(const PreparedModel& model, const family::Batch& inputs, std::int64_t keep,
              PreparedModel::Callee callee) {
  const family::ForwardArguments last(nullptr, {}, keep + 1,
                                      family::ForwardArguments::Stage::prefill);
  const Tensor logits = callee == PreparedModel::Callee::model ? model.unwrapped(inputs).logits
                                                               : model(inputs).logits;
  const Tensor scored = logits.slice(1, 0, -1);
  return scored.size(1) == keep ? scored : scored.slice(1, scored.size(1) - keep, scored.size(1));
}

}  // namespace

Tensor kept_logits(const PreparedModel& model, const family::Batch& inputs, std::int64_t keep,
                   PreparedModel::Callee callee) {
  Tensor logits = sliced(model, inputs, keep, callee);
  if (!ghost::has(changes::kTrlDividesLogits) || ghost::has(changes::kTrlFusesLogSoftmax))
    return logits;  // not at all, or within the kernel
  if (ghost::has(changes::kTrlDividesLogitsInPlace))
    ghost::div_view_(logits);
  else
    logits = logits.div(2.0);
  return logits;
}

}  // namespace memtape::transformers::trl
