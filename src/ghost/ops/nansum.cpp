// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/nansum.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/reductions.h"

namespace memtape::ghost {
namespace {

/// grad.expand_as(self) * self.isnan().logical_not()
struct NansumBackward0 final : Node {
  NansumBackward0() : Node("NansumBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor x = self.unpack();
    const Tensor is_number = logical_not(isnan(x));
    if (wants(0)) out[0] = in[0].expand(x.sizes()).mul(is_number);
  }
  void release() override { self.reset(); }
  Saved self;
};

}  // namespace

Tensor nansum(const In& self) {
  Op op("nansum", {&self});
  Ptr<NansumBackward0> node;
  if (op.differentiable()) {
    node = op.node<NansumBackward0>({&*self});
    node->self.keep(*self);
  }
  const GradMode no_grad(false);
  Tensor out = sum_all(*self);
  if (node) set_history(out, node);
  self.release();
  return out;
}

}  // namespace memtape::ghost
