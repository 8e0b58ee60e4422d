// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/padding.h"

#include <algorithm>

#include "ghost/autograd/node.h"
#include "ghost/ops/memory_format.h"

namespace memtape::ghost {
namespace {

struct ConstantPadNdBackward0 final : Node {
  ConstantPadNdBackward0(int d, std::int64_t front, std::int64_t back)
      : Node("ConstantPadNdBackward0"), dimension(d), before(front), after(back) {}
  void apply(Gradients& in, Gradients& out) override {
    out[0] = pad(in[0], dimension, -before, -after);
  }
  void release() override {}
  int dimension;
  std::int64_t before, after;
};

}  // namespace

/// In the memory format of what is padded (aten/src/ATen/native/PadNd.cpp, constant_pad_nd).
Tensor pad(const In& x, int d, std::int64_t before, std::int64_t after) {
  Op op("constant_pad_nd", {&x});
  const std::int64_t cut_front = std::max<std::int64_t>(-before, 0),
                     cut_back = std::max<std::int64_t>(-after, 0);
  const Tensor source = x->detach().slice(d, cut_front, x->size(d) - cut_back);
  Tensor out;
  if (before <= 0 && after <= 0) {
    out = source.clone();
  } else {
    Dims sizes = x->sizes();
    sizes[d] += before + after;
    out =
        lies_channels_last(*x) ? empty_channels_last(sizes, x->dtype()) : empty(sizes, x->dtype());
  }
  if (op.differentiable())
    set_history(out, op.node<ConstantPadNdBackward0>({&*x}, d, before, after));
  return out;
}

Tensor pad_last(const In& x, std::int64_t before, std::int64_t after) {
  return pad(x, -1, before, after);
}

}  // namespace memtape::ghost
