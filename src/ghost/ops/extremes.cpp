// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/extremes.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"

namespace memtape::ghost {
namespace {

/// where(self == other, grad / 2, grad).masked_fill_(self > other, 0), and the other way round.
struct ExtremeBackward0 final : Node {
  explicit ExtremeBackward0(const char* node_name) : Node(node_name) {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor a = self.unpack(), b = other.unpack();
    for (std::size_t i = 0; i < 2; ++i) {
      if (!wants(i)) continue;
      const Tensor half = in[0].div(2.0);  // the last argument first
      const Tensor equal = eq(a, b);
      out[i] = where(equal, half, in[0]);
      const Tensor loses = gt(a, b);
    }
  }
  void release() override {
    other.reset();
    self.reset();
  }
  Saved self, other;
};

Tensor extreme(const In& self, const In& other, const char* name, const char* node_name) {
  Op op(name, {&self, &other});
  Ptr<ExtremeBackward0> node;
  if (op.differentiable()) {
    node = op.node<ExtremeBackward0>({&*self, &*other}, node_name);
    node->self.keep(*self);
    node->other.keep(*other);
  }
  Tensor out = empty_like(*self, self->dtype());
  if (node) set_history(out, node);
  return out;
}

}  // namespace

Tensor minimum(const In& self, const In& other) {
  return extreme(self, other, "minimum", "MinimumBackward0");
}
Tensor maximum(const In& self, const In& other) {
  return extreme(self, other, "maximum", "MaximumBackward0");
}

}  // namespace memtape::ghost
