// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/padding.h"

#include <algorithm>

#include "ghost/autograd/node.h"

namespace memtape::ghost {
namespace {

struct ConstantPadNdBackward0 final : Node {
  ConstantPadNdBackward0(std::int64_t front, std::int64_t back)
      : Node("ConstantPadNdBackward0"), before(front), after(back) {}
  void apply(Gradients& in, Gradients& out) override { out[0] = pad_last(in[0], -before, -after); }
  void release() override {}
  std::int64_t before, after;
};

}  // namespace

Tensor pad_last(const In& x, std::int64_t before, std::int64_t after) {
  Op op("constant_pad_nd", {&x});
  const std::int64_t cut_front = std::max<std::int64_t>(-before, 0),
                     cut_back = std::max<std::int64_t>(-after, 0);
  const Tensor source = x->detach().slice(-1, cut_front, x->size(-1) - cut_back);
  Tensor out;
  if (before <= 0 && after <= 0) {
    out = source.clone();
  } else {
    Dims sizes = x->sizes();
    sizes[-1] += before + after;
    out = empty(sizes, x->dtype());
  }
  if (op.differentiable()) set_history(out, op.node<ConstantPadNdBackward0>({&*x}, before, after));
  return out;
}

}  // namespace memtape::ghost
