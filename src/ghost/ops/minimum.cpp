// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/minimum.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"

namespace memtape::ghost {
namespace {

/// where(self == other, grad / 2, grad).masked_fill_(self > other, 0), and the other way round.
struct MinimumBackward0 final : Node {
  MinimumBackward0() : Node("MinimumBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor a = self.unpack(), b = other.unpack();
    for (std::size_t i = 0; i < 2; ++i) {
      if (!wants(i)) continue;
      const Tensor equal = comparison("eq", a);
      const Tensor half = in[0].div(2.0);
      out[i] = where(equal, half, in[0]);
      const Tensor loses = comparison("gt", a);
    }
  }
  void release() override {
    self.reset();
    other.reset();
  }
  Saved self, other;
};

}  // namespace

Tensor minimum(const In& self, const In& other) {
  Op op("minimum", {&self, &other});
  Ptr<MinimumBackward0> node;
  if (op.differentiable()) {
    node = op.node<MinimumBackward0>({&*self, &*other});
    node->self.keep(*self);
    node->other.keep(*other);
  }
  Tensor out = empty_like(*self, self->dtype());
  if (node) set_history(out, node);
  return out;
}

}  // namespace memtape::ghost
