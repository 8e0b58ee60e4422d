// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/unary.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"

namespace memtape::ghost {
namespace {

Tensor one_like(const char* name, const In& self) {
  Op op(name, {&self});
  return empty_like(*self, self->dtype());
}

/// grad * self.sgn()
struct AbsBackward0 final : Node {
  AbsBackward0() : Node("AbsBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor x = self.unpack();
    if (wants(0)) out[0] = in[0].mul(sgn(x));
  }
  void release() override { self.reset(); }
  Saved self;
};

/// grad.flip(d)
struct FlipBackward0 final : Node {
  explicit FlipBackward0(int d) : Node("FlipBackward0"), dimension(d) {}
  void apply(Gradients& in, Gradients& out) override { out[0] = flip(in[0], dimension); }
  void release() override {}
  int dimension;
};

}  // namespace

Tensor abs(const In& self) {
  Op op("abs", {&self});
  Ptr<AbsBackward0> node;
  if (op.differentiable()) {
    node = op.node<AbsBackward0>({&*self});
    node->self.keep(*self);
  }
  Tensor out = empty_like(*self, self->dtype());
  if (node) set_history(out, node);
  return out;
}
Tensor sign(const In& self) { return one_like("sign", self); }
Tensor sgn(const In& self) { return one_like("sgn", self); }
Tensor floor(const In& self) { return one_like("floor", self); }
Tensor ceil(const In& self) { return one_like("ceil", self); }
Tensor round(const In& self) { return one_like("round", self); }
Tensor cos(const In& self) { return one_like("cos", self); }
Tensor sin(const In& self) { return one_like("sin", self); }
Tensor nan_to_num(const In& self) { return one_like("nan_to_num", self); }
Tensor flip(const In& self, int d) {
  Op op("flip", {&self});
  Tensor out = empty_like(*self, self->dtype());
  if (op.differentiable()) set_history(out, op.node<FlipBackward0>({&*self}, d));
  return out;
}
Tensor resolve_conj(const In& self) { return one_like("resolve_conj", self); }
Tensor floor_divide(const In& self, double) { return one_like("floor_divide", self); }
Tensor remainder(const In& self, double) { return one_like("remainder", self); }
Tensor lshift(const In& self, double) { return one_like("lshift", self); }

}  // namespace memtape::ghost
