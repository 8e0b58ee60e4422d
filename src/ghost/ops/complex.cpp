// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/complex.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/iterator.h"
#include "ghost/ops/unary.h"
#include "ghost/ops/views.h"

namespace memtape::ghost {
namespace {

/// derivatives.yaml: view_as_real(grad.contiguous()), view_as_complex(grad.contiguous()).
struct ComplexViewBackward final : Node {
  explicit ComplexViewBackward(const char* node_name) : Node(node_name) {}
  void apply(Gradients& in, Gradients& out) override { out[0] = in[0].contiguous(); }
  void release() override {}
};

/// mul_tensor_backward: grad * other.conj(). The conjugate is lazy, and mul, which does not know
/// it, has it made (aten/src/ATen/ConjugateFallback.cpp).
struct ComplexMulBackward0 final : Node {
  ComplexMulBackward0() : Node("MulBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor conjugate = resolve_conj(other.unpack());
    const Op op("mul", {});
    out[0] = pointwise_output({&in[0], &conjugate}, in[0].dtype());
  }
  void release() override { other.reset(); }
  Saved other;
};

Tensor complex_view(const In& self, const char* name, const char* node_name) {
  Op op(name, {&self});
  Tensor out = alias(*self, self->sizes(), self->strides());
  if (op.differentiable()) set_history(out, op.node<ComplexViewBackward>({&*self}, node_name));
  return out;
}

}  // namespace

Tensor polar_of_ones(const Tensor& angles) {
  const Tensor ones = ones_like(angles);
  const Op op("polar", {});
  Dims sizes = angles.sizes().with(2), strides = ones.strides();
  for (int i = 0; i < strides.rank(); ++i) strides[i] *= 2;
  return empty_strided(sizes, strides.with(1), DType::float32);
}

Tensor view_as_complex(const In& pairs) {
  return complex_view(pairs, "view_as_complex", "ViewAsComplexBackward0");
}
Tensor view_as_real(const In& numbers) {
  return complex_view(numbers, "view_as_real", "ViewAsRealBackward0");
}

Tensor complex_mul(const In& self, const Tensor& other) {
  Op op("mul", {&self});
  Ptr<ComplexMulBackward0> node;
  if (op.differentiable()) {
    node = op.node<ComplexMulBackward0>({&*self});
    node->other.keep(other);
  }
  Tensor out = pointwise_output({&*self, &other}, DType::float32);
  if (node) set_history(out, node);
  return out;
}

}  // namespace memtape::ghost
