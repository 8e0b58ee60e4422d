// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/unfold.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/views.h"

namespace memtape::ghost {
namespace {

/// unfold_backward: windows overlap, so each place of the input collects what is its own; the
/// kernel reads the places from a row of numbers (cuda/UnfoldBackwardKernel.cu,
/// native/UnfoldBackward.h).
struct UnfoldBackward0 final : Node {
  explicit UnfoldBackward0(const Dims& input) : Node("UnfoldBackward0"), sizes(input) {}
  void apply(Gradients& in, Gradients& out) override {
    Op op("unfold_backward", {});
    out[0] = zeros(sizes, in[0].dtype());
    const Tensor idx_dim = arange(sizes[-1], DType::int64);
  }
  void release() override {}
  Dims sizes;
};

}  // namespace

Tensor unfold_last(const In& self, std::int64_t size) {
  Op op("unfold", {&self});
  Dims sizes = self->sizes();
  const Dims strides = self->strides().with(self->strides()[-1]);
  sizes[-1] = sizes[-1] - size + 1;
  Tensor out = alias(*self, sizes.with(size), strides);
  if (op.differentiable()) set_history(out, op.node<UnfoldBackward0>({&*self}, self->sizes()));
  return out;
}

}  // namespace memtape::ghost
