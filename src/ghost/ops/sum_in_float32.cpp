// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/sum_in_float32.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/reduce_kernel.h"

namespace memtape::ghost {
namespace {

struct SumInFloat32Backward1 final : Node {
  explicit SumInFloat32Backward1(const Dims& input) : Node("SumBackward1"), sizes(input) {}
  void apply(Gradients& in, Gradients& out) override { out[0] = in[0].expand(sizes); }
  void release() override {}
  Dims sizes;
};

}  // namespace

Tensor sum_in_float32(const In& self) {
  Op op("sum", {&self});
  const int last = self->dim() - 1;
  Dims sizes = self->sizes();
  sizes[last] = 1;
  Tensor out = empty(sizes, DType::float32);
  reduce_scratch(*self, dim_set(last), DType::float32);
  if (op.differentiable())
    set_history(out, op.node<SumInFloat32Backward1>({&*self}, self->sizes()));
  return out;
}

}  // namespace memtape::ghost
