// SPDX-License-Identifier: Apache-2.0
#include "family/loss.h"

#include <utility>

#include "family/loss_dialect.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/loss.h"

namespace memtape::family {
namespace {

thread_local bool shifts_logits = false;

/// torch.nn.functional.pad(x, (0, 1)) of integers: a new tensor one longer.
Tensor pad_right(const Tensor& x) {
  const ghost::Op op("constant_pad_nd", {});
  Dims sizes = x.sizes();
  ++sizes[-1];
  return ghost::empty(sizes, x.dtype());
}

/// ForCausalLMLoss before transformers 4.49.
Tensor shifted_logits_loss(const Tensor& model_logits, const Tensor& labels,
                           std::int64_t vocab_size) {
  const Tensor logits = model_logits.to_float();
  Tensor shift_logits = logits.slice(-2, 0, -1).contiguous();
  Tensor shift_labels = labels.slice(-1, 1, labels.size(-1)).contiguous();
  shift_logits = std::move(shift_logits).view({-1, vocab_size});
  shift_labels = std::move(shift_labels).view({-1});
  return ghost::cross_entropy(shift_logits, shift_labels);
}

Tensor shifted_labels_loss(const Tensor& model_logits, const Tensor& model_labels,
                           std::int64_t vocab_size) {
  Tensor logits = model_logits.to_float();
  const Tensor labels = pad_right(model_labels);
  Tensor shift_labels = labels.slice(-1, 1, labels.size(-1)).contiguous();
  logits = std::move(logits).view({-1, vocab_size});
  shift_labels = std::move(shift_labels).view({-1});
  return ghost::cross_entropy(logits, shift_labels);
}

}  // namespace

LogitShift::LogitShift(bool wanted) : outer_(std::exchange(shifts_logits, wanted)) {}
LogitShift::~LogitShift() { shifts_logits = outer_; }
bool LogitShift::in_force() { return shifts_logits; }

Tensor causal_lm_loss(const Tensor& model_logits, const Batch& batch, std::int64_t vocab_size) {
  if (!batch.labels.defined()) return {};
  const auto mean = LogitShift::in_force() ? shifted_logits_loss : shifted_labels_loss;
  Tensor loss = mean(model_logits, batch.labels, vocab_size);
  if (batch.num_items_in_batch.defined()) loss = loss.div(batch.num_items_in_batch);
  return loss;
}

Tensor masked_lm_loss(const Tensor& logits, const Batch& batch, std::int64_t vocab_size) {
  Tensor scores = logits.view({-1, vocab_size});
  return ghost::cross_entropy(std::move(scores), batch.labels.view({-1}));
}

}  // namespace memtape::family
