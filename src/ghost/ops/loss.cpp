// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/loss.h"

#include "ghost/autocast.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/reductions.h"
#include "ghost/trace.h"

namespace memtape::ghost {
namespace {

struct NllLossBackward0 final : Node {
  NllLossBackward0() : Node("NllLossBackward0") {}
  void apply(Gradients&, Gradients& out) override {
    const Tensor input = self.unpack();
    Op op("nll_loss_backward", {});
    out[0] = empty_like(input, input.dtype());
  }
  void release() override {
    self.reset();
    target.reset();
    total_weight.reset();
  }
  Saved self, target, total_weight;
};

/// `sizes`: of the loss, [] for the mean or [rows].
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const Dims& sizes) {
  const Autocasted cast(log_probabilities, CastPolicy::fp32);
  const Tensor& input = *cast;
  Op op("nll_loss_forward", {});
  traced_reads({&input, &target});
  Session& s = session();
  Ptr<NllLossBackward0> node;
  if (input.requires_grad() && s.grad_enabled && !s.skipping) {
    node = op.node<NllLossBackward0>({&input});
    node->self.keep(input);
    node->target.keep(target);
  }
  Tensor loss = empty(sizes, input.dtype());
  const Tensor total_weight = empty({}, input.dtype());
  if (node) {
    set_history(loss, node);
    node->total_weight.keep_result(total_weight);
  }
  return loss;
}

}  // namespace

/// log_softmax is asked for the dtype of the logits, which autocast leaves as it is.
Tensor cross_entropy(const In& logits, const In& labels) {
  Tensor loss = nll_loss(log_softmax(*logits, logits->dtype()), *labels, {});
  logits.release();
  labels.release();
  return loss;
}

Tensor cross_entropy_of_rows(const In& logits, const In& labels) {
  Tensor losses = nll_loss(log_softmax(*logits, logits->dtype()), *labels, labels->sizes());
  logits.release();
  labels.release();
  return losses;
}

}  // namespace memtape::ghost
