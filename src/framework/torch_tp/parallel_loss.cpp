// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_tp/parallel_loss.h"

#include "ghost/autograd/function.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/logarithms.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/session.h"

namespace memtape::torch_tp {
namespace {

using ghost::Dims;
using ghost::Op;
using ghost::Tensor;

/// torch.where(target != ignore_index, values, 0): the number becomes a tensor first.
Tensor where_counted(const Tensor& target, DType dtype) {
  const Tensor counted = ghost::ne(target, ghost::kIgnoreIndex);
  const Op op("where", {});
  const Tensor zero = ghost::empty({}, dtype);
  return ghost::empty(target.sizes(), dtype);
}

/// (target != ignore_index).sum(): of int64, by way of a cast.
Tensor count_counted(const Tensor& target) {
  const Tensor counted = ghost::ne(target, ghost::kIgnoreIndex);
  const Op op("sum", {});
  Tensor sum = ghost::empty({}, DType::int64);
  const Tensor cast = ghost::empty(target.sizes(), DType::int64);
  return sum;
}

/// _MaskPartial._mask_tensor: which labels are of other GPUs, and the labels counted from this
/// GPU's first.
struct MaskedTarget {
  explicit MaskedTarget(const Tensor& target) {
    {
      const Tensor below = ghost::lt(target, 0), above = ghost::ge(target, ghost::kLimit);
      mask = ghost::bitwise_or(below, above);
    }
    const Op op("sub", {});
    const Tensor copy = ghost::empty(target.sizes(), target.dtype());
    indices = ghost::empty(target.sizes(), target.dtype());
  }
  Tensor mask, indices;
};

Tensor all_reduced(const Tensor& tensor) {
  const Op op("all_reduce", {});
  return ghost::empty(tensor.sizes(), tensor.dtype(), Category::communication);
}

/// _log_softmax: maxima and sums of the exponentials go round.
Tensor log_softmax(const Tensor& x) {
  Tensor x_max = x.sum(-1, true);  // amax: as large, by the same kernel
  x_max = all_reduced(x_max);
  const Tensor shifted = x.sub(x_max);
  Tensor sum = ghost::exp(shifted).sum(-1, true);
  sum = all_reduced(sum);
  const Tensor logarithm = ghost::log(sum);
  return shifted.sub(logarithm);
}

/// _nll_loss_and_log_softmax_backward.
struct ParallelNllLossBackward final : ghost::Node {
  ParallelNllLossBackward() : Node("NllLossBackward0") {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    const Tensor x = self.unpack(), labels = target.unpack();
    Tensor grad_output = in[0].div(2.0);
    const Tensor safe_target = where_counted(labels, DType::int64);
    const Tensor grad_input = ghost::zeros_like(x);
    const MaskedTarget masked(labels);
    Tensor update;
    {
      const Op op("sub", {});
      const Tensor as_number = ghost::empty(labels.sizes(), x.dtype());
      update = ghost::empty(labels.sizes(), x.dtype());
    }
    const Tensor rows = ghost::arange(labels.numel(), DType::int64);
    grad_output = where_counted(labels, x.dtype());
    out[0] = grad_input.add(ghost::exp(x)).mul(2.0);  // by grad_output
  }
  void release() override {
    self.reset();
    target.reset();
    total_weight.reset();
  }
  ghost::Saved self, target, total_weight;
};

}  // namespace

Tensor parallel_cross_entropy(const ghost::In& logits, const Tensor& labels) {
  const auto node = ghost::function_node<ParallelNllLossBackward>({&*logits});
  if (node) node->target.keep(labels);
  const ghost::GradMode no_grad(false);
  const Tensor x = log_softmax(*logits);
  const Tensor safe_target = where_counted(labels, DType::int64);
  MaskedTarget masked(safe_target);
  Tensor picked;
  {
    const Op op("gather", {});
    picked = ghost::empty(labels.sizes(), x.dtype());
  }
  masked.mask.reset();
  const Tensor reduced = all_reduced(picked);
  Tensor result = reduced.neg();
  result = where_counted(labels, x.dtype());
  Tensor total_weight = count_counted(labels);
  total_weight = total_weight.to(x.dtype());
  Tensor loss = ghost::sum_all(result).div(total_weight);
  if (node) {
    node->self.keep(x);
    node->total_weight.keep(total_weight);
    ghost::set_history(loss, node);
  }
  logits.release();
  return loss;
}

}  // namespace memtape::torch_tp
