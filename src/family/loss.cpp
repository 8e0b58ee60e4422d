// SPDX-License-Identifier: Apache-2.0
#include "family/loss.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/loss.h"

namespace memtape::family {
namespace {

/// torch.nn.functional.pad(x, (0, 1)) of integers: a new tensor one longer.
Tensor pad_right(const Tensor& x) {
  const ghost::Op op("constant_pad_nd", {});
  Dims sizes = x.sizes();
  ++sizes[-1];
  return ghost::empty(sizes, x.dtype());
}

}  // namespace

Tensor causal_lm_loss(const Tensor& model_logits, const Batch& batch, std::int64_t vocab_size) {
  if (!batch.labels.defined()) return {};
  Tensor logits = model_logits.to_float();
  const Tensor labels = pad_right(batch.labels);
  Tensor shift_labels = labels.slice(-1, 1, labels.size(-1)).contiguous();
  logits = std::move(logits).view({-1, vocab_size});
  shift_labels = std::move(shift_labels).view({-1});
  Tensor loss = ghost::cross_entropy(logits, shift_labels);
  if (batch.num_items_in_batch.defined()) loss = loss.div(batch.num_items_in_batch);
  return loss;
}

Tensor masked_lm_loss(const Tensor& logits, const Batch& batch, std::int64_t vocab_size) {
  Tensor scores = logits.view({-1, vocab_size});
  return ghost::cross_entropy(std::move(scores), batch.labels.view({-1}));
}

}  // namespace memtape::family
