// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/log1p.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"

namespace memtape::ghost {
namespace {

/// grad / (self + 1)
struct Log1PBackward0 final : Node {
  Log1PBackward0() : Node("Log1PBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor grown = self.unpack().add(1.0);
    if (wants(0)) out[0] = in[0].div(grown);
  }
  void release() override { self.reset(); }
  Saved self;
};

}  // namespace

/// Of float32, which autocast leaves as it is.
Tensor log1p(const In& self) {
  Op op("log1p", {&self});
  Ptr<Log1PBackward0> node;
  if (op.differentiable()) {
    node = op.node<Log1PBackward0>({&*self});
    node->self.keep(*self);
  }
  Tensor out = empty_like(*self, self->dtype());
  if (node) set_history(out, node);
  return out;
}

}  // namespace memtape::ghost
