// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/scan.h"

#include "ghost/autocast.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/cub.h"
#include "ghost/ops/unary.h"

namespace memtape::ghost {
namespace {

/// cumsum_backward: grad.flip(dim).cumsum(dim).flip(dim), or the gradient itself where there is
/// nothing to sum.
struct CumsumBackward0 final : Node {
  explicit CumsumBackward0(int d) : Node("CumsumBackward0"), dimension(d) {}
  void apply(Gradients& in, Gradients& out) override {
    if (in[0].numel() <= 1 || in[0].size(dimension) == 1) {
      out[0] = in[0];
      return;
    }
    const Tensor flipped = flip(in[0], dimension);
    const Tensor summed = cumsum(flipped, dimension);
    out[0] = flip(summed, dimension);
  }
  void release() override {}
  int dimension;
};

}  // namespace

Tensor cumsum(const In& self, int d) {
  Op op("cumsum", {&self});
  d = wrap(d, self->dim());
  const DType dtype = is_floating_point(self->dtype()) ? reduction_dtype(*self) : DType::int64;
  Tensor out = empty(self->sizes(), dtype);
  if (op.differentiable()) set_history(out, op.node<CumsumBackward0>({&*self}, d));
  const GradMode below_autograd(false);
  const Tensor converted = self->to(dtype);
  const Tensor packed = converted.contiguous();
  // scan_dim: a single row is scanned by cub, many are scanned by kernels without scratch.
  if (self->numel() == self->size(d))
    const Tensor temporary = empty({cub::inclusive_sum_bytes(dtype, self->numel())}, DType::uint8);
  return out;
}

}  // namespace memtape::ghost
