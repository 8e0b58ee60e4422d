// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trl/row_log_softmax.h"

#include <utility>
#include <vector>

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/session.h"
#include "release/trl_changes.h"

namespace memtape::transformers::trl {
namespace {

using ghost::Tensor;

/// logsumexp_backward: grad * (self - result).exp()
struct LogsumexpBackward0 final : ghost::Node {
  LogsumexpBackward0() : Node("LogsumexpBackward0") {}
  void apply(ghost::Gradients&, ghost::Gradients& out) override {
    const Tensor self = row.unpack();
    const ghost::Op op("logsumexp_backward", {});
    const auto like = [&] { return ghost::empty(self.sizes(), self.dtype()); };
    const Tensor difference = like(), exponential = like();
    if (wants(0)) out[0] = like();
  }
  void release() override {
    row.reset();
    sum.reset();
  }
  ghost::Saved row, sum;
};

/// torch.logsumexp(row, dim=-1): the row less its largest element, and the sum of its exponentials.
Tensor logsumexp(const Tensor& row) {
  const ghost::In operand(row);
  ghost::Op op("logsumexp", {&operand});
  ghost::Ptr<LogsumexpBackward0> node;
  if (op.differentiable()) node = op.node<LogsumexpBackward0>({&row});
  Tensor sum = ghost::empty(row.sizes().leading(), row.dtype());
  {
    const Tensor largest = ghost::empty(row.sizes().leading(), row.dtype());
    const Tensor shifted = ghost::empty(row.sizes(), row.dtype());
  }
  if (node) {
    node->row.keep(row);
    node->sum.keep(sum);
    set_history(sum, node);
  }
  return sum;
}

Tensor gathered_from(const Tensor& values, const Tensor& index) {
  return ghost::gather(values, index.unsqueeze(2)).squeeze(2);
}

}  // namespace

Tensor row_log_softmax(const Tensor& logits, const Tensor& index) {
  if (!ghost::has(changes::kTrlTakesLogSoftmaxByRow))
    return gathered_from(ghost::log_softmax(logits, logits.dtype()), index);
  const std::int64_t rows = logits.size(0);
  const bool is_wide = logits.dtype() == DType::float32;
  const Tensor selected = is_wide ? gathered_from(logits, index) : Tensor();
  std::vector<Tensor> made;
  const std::vector<Tensor> labels = index.chunk(rows, 0);
  std::size_t at = 0;
  for (const Tensor& row : logits.chunk(rows, 0)) {
    const Tensor& of_row = labels[at++];
    made.push_back(is_wide ? logsumexp(row)
                           : gathered_from(ghost::log_softmax(row, row.dtype()), of_row));
  }
  const Tensor joined = made.size() == 1 ? made.front() : ghost::cat(made, 0);
  return is_wide ? selected.sub(joined) : joined;
}

}  // namespace memtape::transformers::trl
