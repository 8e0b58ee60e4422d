// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/triangular.h"

#include <utility>

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/matmul.h"

namespace memtape::ghost {
namespace {

/// triangular_solve_kernel: up to 8 systems of 64 rows or more are solved one after the other; more
/// of them at once, which takes an array of pointers to either operand's matrices.
std::pair<Tensor, Tensor> take_pointers(const Tensor& A) {
  constexpr std::int64_t kFewSystems = 8, kManyRows = 64;
  const std::int64_t systems = ghost::numel(A.sizes().leading().leading());
  if (systems <= kFewSystems && A.size(-1) >= kManyRows) return {};
  Tensor of_A = empty({systems}, DType::int64);
  return {std::move(of_A), empty({systems}, DType::int64)};
}

/// linalg_solve_triangular_out: B is copied into the solution and solved there.
Tensor solved(const Tensor& A, const Tensor& B) {
  Op op("linalg_solve_triangular", {});
  Dims strides = contiguous_strides(B.sizes());
  strides[-2] = 1;
  strides[-1] = B.size(-2);
  Tensor out = empty_strided(B.sizes(), strides, B.dtype());
  const auto pointers = take_pointers(A);  // triangular_solve_batched_cublas holds them
  use_cublas();
  return out;
}

struct TrilBackward0 final : Node {
  explicit TrilBackward0(int forward_diagonal)
      : Node("TrilBackward0"), diagonal(forward_diagonal) {}
  void apply(Gradients& in, Gradients& out) override { out[0] = tril(in[0], diagonal); }
  void release() override {}
  int diagonal;
};

/// linalg_solve_triangular_backward.
struct LinalgSolveTriangularBackward0 final : Node {
  LinalgSolveTriangularBackward0() : Node("LinalgSolveTriangularBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor A = self.unpack(), X = result.unpack();
    const Tensor B_grad = solved(A, in[0]);
    if (wants(0)) {
      Tensor A_grad = B_grad.matmul(X.transpose(-2, -1)).neg();
      A_grad = tril(A_grad);
      out[0] = std::move(A_grad);
    }
    if (wants(1)) out[1] = B_grad;
  }
  void release() override {
    self.reset();
    result.reset();
  }
  Saved self, result;
};

}  // namespace

Tensor tril(const In& self, int diagonal) {
  Op op("tril", {&self});
  Tensor out = empty_like(*self, self->dtype());
  if (op.differentiable()) set_history(out, op.node<TrilBackward0>({&*self}, diagonal));
  return out;
}

Tensor triu(const In& self, int) {
  const Op op("triu", {&self});
  return empty_like(*self, self->dtype());
}

Tensor solve_unit_lower_triangular(const Tensor& A, const Tensor& B) {
  const In matrix(A), right(B);
  Op op("linalg_solve_triangular", {&matrix, &right});
  Ptr<LinalgSolveTriangularBackward0> node;
  if (op.differentiable()) {
    node = op.node<LinalgSolveTriangularBackward0>({&A, &B});
    node->self.keep(A);
  }
  Tensor out = solved(A, B);
  if (node) {
    set_history(out, node);
    node->result.keep_result(out);
  }
  return out;
}

}  // namespace memtape::ghost
