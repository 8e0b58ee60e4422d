// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/expm1.h"

#include "ghost/autocast.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"

namespace memtape::ghost {
namespace {

/// grad * (result + 1)
struct Expm1Backward0 final : Node {
  Expm1Backward0() : Node("Expm1Backward0") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor y = result.unpack();
    const Tensor grown = y.add(1.0);
    if (wants(0)) out[0] = in[0].mul(grown);
  }
  void release() override { result.reset(); }
  Saved result;
};

Tensor expm1_of(const In& self) {
  Op op("expm1", {&self});
  Ptr<Expm1Backward0> node;
  if (op.differentiable()) node = op.node<Expm1Backward0>({&*self});
  Tensor out = empty_like(*self, self->dtype());
  if (node) {
    set_history(out, node);
    node->result.keep_result(out);
  }
  return out;
}

}  // namespace

Tensor expm1(const In& self) {
  const Autocasted x(*self, CastPolicy::fp32);
  Tensor out = expm1_of(*x);
  self.release();
  return out;
}

}  // namespace memtape::ghost
