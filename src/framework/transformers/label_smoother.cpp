// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/label_smoother.h"

#include "ghost/ops/comparisons.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sum_in_float32.h"

namespace memtape::transformers {

using ghost::Tensor;

Tensor label_smoother(const Tensor& model_logits, const Tensor& model_labels,
                      const Tensor& num_items_in_batch, bool shift_labels) {
  Tensor logits = model_logits, labels = model_labels;
  if (shift_labels) {
    logits = std::move(logits).slice(-2, 0, -1).contiguous();
    labels = std::move(labels).slice(-1, 1, model_labels.size(-1)).contiguous();
  }
  const Tensor log_probs = ghost::log_softmax(logits, logits.dtype()).neg();
  labels = std::move(labels).unsqueeze(-1);
  const Tensor padding_mask = ghost::eq(labels, ghost::kIgnoreIndex);
  labels = ghost::clamp(labels, {.min = 0});
  Tensor nll_loss = ghost::gather(log_probs, labels);
  Tensor smoothed_loss = ghost::sum_in_float32(log_probs);
  ghost::masked_fill_(nll_loss, padding_mask, 0);
  ghost::masked_fill_(smoothed_loss, padding_mask, 0);
  Tensor denominator = num_items_in_batch;
  if (!denominator.defined()) denominator = ghost::sum_all(padding_mask.to(DType::int64)).neg();
  nll_loss = ghost::sum_all(nll_loss).div(denominator);
  smoothed_loss = ghost::sum_all(smoothed_loss).div(denominator.mul(2.0));
  return nll_loss.mul(0.9).add(smoothed_loss.mul(0.1));
}

}  // namespace memtape::transformers
