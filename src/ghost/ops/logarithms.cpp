// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/logarithms.h"

#include "ghost/autocast.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"

namespace memtape::ghost {
namespace {

/// grad.div(self), and grad / (self + 1)
struct LogBackward final : Node {
  LogBackward(const char* node_name, bool adds_one) : Node(node_name), of_one_more(adds_one) {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor x = self.unpack();
    if (wants(0)) out[0] = of_one_more ? in[0].div(x.add(1.0)) : in[0].div(x);
  }
  void release() override { self.reset(); }
  Saved self;
  bool of_one_more;
};

Tensor logarithm(const In& self, const char* op_name, const char* node_name, bool adds_one) {
  const Autocasted x(*self, CastPolicy::fp32);
  const In operand(*x);
  Op op(op_name, {&operand});
  Ptr<LogBackward> node;
  if (op.differentiable()) {
    node = op.node<LogBackward>({&*x}, node_name, adds_one);
    node->self.keep(*x);
  }
  Tensor out = empty_like(*x, x->dtype());
  if (node) set_history(out, node);
  self.release();
  return out;
}

}  // namespace

Tensor log(const In& self) { return logarithm(self, "log", "LogBackward0", false); }

Tensor log1p(const In& self) { return logarithm(self, "log1p", "Log1PBackward0", true); }

}  // namespace memtape::ghost
