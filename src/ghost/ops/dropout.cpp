// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/dropout.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"

namespace memtape::ghost {
namespace {

struct NativeDropoutBackward0 final : Node {
  NativeDropoutBackward0() : Node("NativeDropoutBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor kept = mask.unpack();
    Op op("native_dropout_backward", {});
    out[0] = empty(in[0].sizes(), in[0].dtype());  // packed: empty_like(grad, suggested format)
  }
  void release() override { mask.reset(); }
  Saved mask;
};

Tensor native_dropout(const In& x) {
  Op op("native_dropout", {&x});
  Ptr<NativeDropoutBackward0> node;
  if (op.differentiable()) node = op.node<NativeDropoutBackward0>({&*x});
  const Tensor mask = empty_like(*x, DType::boolean);
  Tensor out = empty_like(*x, x->dtype());
  if (node) {
    set_history(out, node);
    node->mask.keep_result(mask);
  }
  return out;
}

}  // namespace

Tensor dropout(const In& x, double p) {
  if (!session().training) p = 0;
  if (p > 0 && p < 1) return native_dropout(x);
  Tensor out = p > 0 ? x->mul(zeros({}, x->dtype())) : *x;
  x.release();
  return out;
}

}  // namespace memtape::ghost
