// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/matmul.h"

#include <algorithm>

#include "ghost/autocast.h"
#include "ghost/autograd/node.h"
#include "ghost/autograd/selective_checkpoint.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/cublaslt.h"
#include "ghost/ops/iterator.h"
#include "ghost/ops/views.h"
#include "ghost/trace.h"
#include "release/torch_changes.h"

namespace memtape::ghost {

Bytes cublas_workspace_bytes(const DeviceTraits& device) {
  const bool hopper = device.major == 9 && device.minor == 0;
  const bool blackwell = device.major == 10 || device.major == 12;
  const bool large = hopper || (blackwell && has(changes::kBlackwellWorkspaceIsHoppers));
  return large ? 4096 * 8 * 1024 : (2 * 4096 + 8 * 16) * 1024;
}

namespace {

/// Whether cuBLAS can read the matrix as it lies: one dimension packed, the other's stride at least
/// its length.
bool readable(const Tensor& matrix) {
  const Dims& n = matrix.sizes();
  const Dims& s = matrix.strides();
  const int r = n.rank();
  const auto leads = [](std::int64_t stride, std::int64_t packed) {
    return stride >= std::max<std::int64_t>(1, packed);
  };
  return (s[r - 2] == 1 && leads(s[r - 1], n[r - 2])) ||
         (s[r - 1] == 1 && leads(s[r - 2], n[r - 1]));
}

/// isInputCompliesAddmmCudaLt of Blas.cpp: a bias that is one packed row goes into cublasLt's
/// epilogue, unless the second matrix has a single row or column. One row times it still does.
bool fuses_bias(const Tensor& bias, const Tensor& mat2) {
  const bool row =
      bias.numel() == bias.size(-1) && bias.size(-1) == mat2.size(1) && bias.is_contiguous();
  return row && mat2.size(0) > 1 && mat2.size(1) > 1;
}

/// A row-major product is formed as its transpose, so the second operand is prepared first.
Tensor prepared(const Tensor& matrix) {
  return readable(matrix) ? matrix : clone_contiguous(matrix);
}

bool matrix_is_column_major(const Dims& sizes, const Dims& strides) {
  return strides[0] == 1 && strides[1] == sizes[0];
}

/// mm_mat1_grad and mm_mat2_grad of FunctionsManual.cpp: the product is formed in the operand's own
/// layout.
Tensor mat1_grad(const Tensor& grad, const Tensor& mat2, const Dims& sizes, const Dims& strides) {
  return matrix_is_column_major(sizes, strides) ? mm(mat2, grad.t()).t() : mm(grad, mat2.t());
}
Tensor mat2_grad(const Tensor& grad, const Tensor& mat1, const Dims& sizes, const Dims& strides) {
  return matrix_is_column_major(sizes, strides) ? mm(grad.t(), mat1).t() : mm(mat1.t(), grad);
}

struct MmBackward0 final : Node {
  MmBackward0(const Tensor& a, const Tensor& b)
      : Node("MmBackward0"),
        sizes1(a.sizes()),
        strides1(a.strides()),
        sizes2(b.sizes()),
        strides2(b.strides()) {}
  void apply(Gradients& in, Gradients& out) override {
    if (wants(1)) out[1] = mat2_grad(in[0], self.unpack(), sizes2, strides2);
    if (wants(0)) out[0] = mat1_grad(in[0], mat2.unpack(), sizes1, strides1);
  }
  void release() override {
    mat2.reset();
    self.reset();
  }
  Saved self, mat2;
  Dims sizes1, strides1, sizes2, strides2;
};

struct AddmmBackward0 final : Node {
  AddmmBackward0(const Tensor& a, const Tensor& b)
      : Node("AddmmBackward0"),
        sizes1(a.sizes()),
        strides1(a.strides()),
        sizes2(b.sizes()),
        strides2(b.strides()) {}
  void apply(Gradients& in, Gradients& out) override {
    if (wants(1)) out[1] = mat1_grad(in[0], mat2.unpack(), sizes1, strides1);
    if (wants(2)) out[2] = mat2_grad(in[0], mat1.unpack(), sizes2, strides2);
    if (wants(0)) out[0] = in[0];
  }
  void release() override {
    mat1.reset();
    mat2.reset();
  }
  Saved mat1, mat2;
  Dims sizes1, strides1, sizes2, strides2;
};

struct BmmBackward0 final : Node {
  BmmBackward0() : Node("BmmBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    if (wants(1)) out[1] = bmm(self.unpack().transpose(1, 2), in[0]);
    if (wants(0)) out[0] = bmm(in[0], mat2.unpack().transpose(1, 2));
  }
  void release() override {
    mat2.reset();
    self.reset();
  }
  Saved self, mat2;
};

struct BaddbmmBackward0 final : Node {
  explicit BaddbmmBackward0(double scale) : Node("BaddbmmBackward0"), alpha(scale) {}
  void apply(Gradients& in, Gradients& out) override {
    if (wants(0)) out[0] = scaled(bmm(in[0], batch2.unpack().transpose(1, 2)));
    if (wants(1)) out[1] = scaled(bmm(batch1.unpack().transpose(1, 2), in[0]));
  }
  void release() override {
    batch1.reset();
    batch2.reset();
  }
  /// maybe_multiply of FunctionsManual.cpp.
  Tensor scaled(const Tensor& product) const { return alpha == 1.0 ? product : product.mul(alpha); }
  Saved batch1, batch2;
  double alpha;
};

/// should_fold of LinearAlgebra.cpp: a batch of rows times one matrix is one mm when that needs no
/// extra copy.
bool should_fold(const Tensor& larger, const Tensor& smaller) {
  if (larger.dim() < 3 || smaller.dim() > 2) return false;
  if (smaller.requires_grad()) return true;
  for (int i = 0; i < larger.dim() - 2; ++i)
    if (larger.strides()[i] != larger.strides()[i + 1] * larger.size(i + 1)) return false;
  return true;
}

/// A batch of matrices as three dimensions.
Tensor as_batch(const Tensor& matrices, const Dims& batch) {
  Dims sizes = batch;
  std::int64_t count = ghost::numel(batch);
  sizes.push_back(matrices.size(-2));
  sizes.push_back(matrices.size(-1));
  return matrices.expand(sizes).reshape({count, matrices.size(-2), matrices.size(-1)});
}

/// One matrix, which wants a gradient, times a batch: the product is formed as its transpose, the
/// batch folded.
Tensor folded_right(const Tensor& self, const Tensor& other) {
  const Tensor batch = other.transpose(-2, -1), matrix = self.t();
  const Dims sizes = batch.sizes().leading().with(matrix.size(1));
  const Tensor output = unsafe_view(mm(batch.reshape({-1, batch.size(-1)}), matrix), sizes);
  return output.transpose(-2, -1).contiguous();
}

Tensor matmul_of(const Tensor& self, const Tensor& other) {
  if (self.dim() == 2 && other.dim() == 2) return mm(self, other);
  if (self.dim() == 2 && self.requires_grad()) return folded_right(self, other);
  if (should_fold(self, other)) {
    const Dims sizes = self.sizes().leading().with(other.size(1));
    return unsafe_view(mm(self.reshape({-1, self.size(-1)}), other), sizes);
  }
  const Dims batch = broadcast(self.sizes().leading().leading(), other.sizes().leading().leading());
  const Dims sizes = batch.with(self.size(-2)).with(other.size(-1));
  const Tensor a = as_batch(self, batch);
  const Tensor b = as_batch(other, batch);
  return unsafe_view(bmm(a, b), sizes);
}

/// Linear.cpp's _flatten_nd_linear: leading dimensions folded into rows, one addmm, folded back.
Tensor flattened_linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const Dims sizes = input.sizes().leading().with(weight.size(0));
  const Tensor flat = input.reshape({-1, input.size(-1)});
  return addmm(bias, flat, weight.t()).view(sizes);
}

/// output.add_(bias): in place, so no memory; autograd sums the bias gradient.
struct AddBiasBackward final : Node {
  AddBiasBackward() : Node("AddBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    if (wants(1)) out[1] = in[0];
    if (wants(0)) out[0] = in[0];
  }
  void release() override {}
};

Tensor add_bias(Tensor product, const Tensor& bias) {
  if (!session().grad_enabled || session().skipping ||
      !(product.requires_grad() || bias.requires_grad()))
    return product;
  Op op("add_", {});
  const Ptr<AddBiasBackward> node = op.node<AddBiasBackward>({&product, &bias});
  set_history(product, node);
  return product;
}

}  // namespace

void use_cublas() {
  Session& s = session();
  Tensor& kept = s.cublas_workspaces[s.in_backward ? 1 : 0];
  if (kept.defined() || s.skipping) return;
  Tensor workspace = empty({cublas_workspace_bytes(s.device)}, DType::uint8, Category::workspace);
  if (!has(changes::kCublasWorkspacePerProduct)) kept = std::move(workspace);
}

namespace {

/// What bmm_out_cuda_impl makes its product with.
void use_cublas_for_batch(const Tensor& self) {
  if (self.size(2) != 1 || !has(changes::kBmmOfColumnsIsNoProduct)) use_cublas();
}

}  // namespace

/// getCUDABlasLtWorkspace of CublasHandlePool.cpp: 1 MiB per handle and stream, beside the handle's
/// own workspace.
void use_cublaslt() {
  constexpr Bytes kWorkspace = 1024 * 1024;
  Session& s = session();
  const bool own = has(changes::kCublasWorkspacePerProduct);
  if (own || !has(changes::kCublasLtKeepsWorkspace)) {
    const bool unified = s.cublaslt_workspaces[s.in_backward ? 1 : 0].defined();
    Tensor workspace;
    if (!s.skipping && !unified) workspace = empty({kWorkspace}, DType::uint8, Category::workspace);
    if (!own) use_cublas();  // with the handle, which is asked for afterwards
    return;
  }
  use_cublas();
  Tensor& kept = s.cublaslt_workspaces[s.in_backward ? 1 : 0];
  if (kept.defined() || s.skipping || has(changes::kCublasLtSharesWorkspace)) return;
  kept = empty({kWorkspace}, DType::uint8, Category::workspace);
}

Tensor mm(const In& a, const In& b) {
  const Autocasted mat2(*b, CastPolicy::lower_precision), self(*a, CastPolicy::lower_precision);
  Op op("mm", {&a, &b});
  traced_casts({&*self, &*mat2});
  Ptr<MmBackward0> node;
  if (op.differentiable()) {
    node = op.node<MmBackward0>({&*self, &*mat2}, *self, *mat2);
    if (node->wants(0)) node->mat2.keep(*mat2);
    if (node->wants(1)) node->self.keep(*self);
  }
  Tensor out;
  if (!recalled("mm", {&out})) {
    out = empty({self->size(0), mat2->size(1)}, self->dtype());
    const Tensor right = prepared(*mat2), left = prepared(*self);
    use_cublas();
    offer("mm", {&out});
  }
  if (node) set_history(out, node);
  return out;
}

Tensor addmm(const In& c, const In& a, const In& b) {
  constexpr CastPolicy kLow = CastPolicy::lower_precision;
  const Autocasted mat2(*b, kLow), mat1(*a, kLow), bias(*c, kLow);
  Op op("addmm", {&c, &a, &b});
  traced_casts({&*bias, &*mat1, &*mat2});
  Ptr<AddmmBackward0> node;
  if (op.differentiable()) {
    node = op.node<AddmmBackward0>({&*bias, &*mat1, &*mat2}, *mat1, *mat2);
    if (node->wants(1)) node->mat2.keep(*mat2);
    if (node->wants(2)) node->mat1.keep(*mat1);
  }
  Tensor out = empty({mat1->size(0), mat2->size(1)}, mat1->dtype());
  const Tensor right = prepared(*mat2), left = prepared(*mat1);
  fuses_bias(*bias, *mat2) ? use_cublaslt() : use_cublas();
  if (node) set_history(out, node);
  return out;
}

Tensor bmm(const In& a, const In& b) {
  const Autocasted mat2(*b, CastPolicy::lower_precision), self(*a, CastPolicy::lower_precision);
  Op op("bmm", {&a, &b});
  traced_casts({&*self, &*mat2});
  Ptr<BmmBackward0> node;
  if (op.differentiable()) {
    node = op.node<BmmBackward0>({&*self, &*mat2});
    if (node->wants(0)) node->mat2.keep(*mat2);
    if (node->wants(1)) node->self.keep(*self);
  }
  Tensor out = empty({self->size(0), self->size(1), mat2->size(2)}, self->dtype());
  const Tensor right = prepared(*mat2), left = prepared(*self);
  use_cublas_for_batch(*self);
  if (node) set_history(out, node);
  return out;
}

Tensor baddbmm(const In& a, const In& b, double alpha) {
  const Autocasted batch2(*b, CastPolicy::lower_precision), batch1(*a, CastPolicy::lower_precision);
  Op op("baddbmm", {&a, &b});
  traced_casts({&*batch1, &*batch2});
  Ptr<BaddbmmBackward0> node;
  if (op.differentiable()) {
    node = op.node<BaddbmmBackward0>({&*batch1, &*batch2}, alpha);
    if (node->wants(0)) node->batch2.keep(*batch2);
    if (node->wants(1)) node->batch1.keep(*batch1);
  }
  Tensor out = empty({batch1->size(0), batch1->size(1), batch2->size(2)}, batch1->dtype());
  const Tensor left = prepared(*batch1), right = prepared(*batch2);
  use_cublas();
  if (node) set_history(out, node);
  return out;
}

Tensor baddbmm(const In& self, const In& a, const In& b, double alpha) {
  const Tensor batch1 = *a, batch2 = *b;
  const Autocasted cast2(batch2, CastPolicy::lower_precision),
      cast1(batch1, CastPolicy::lower_precision);
  const Autocasted added(*self, CastPolicy::lower_precision);
  return baddbmm(*cast1, *cast2, alpha);
}

Tensor linear(const In& x, const Tensor& weight, const Tensor& bias) {
  constexpr CastPolicy kLow = CastPolicy::lower_precision;
  const Autocasted b(bias, kLow), w(weight, kLow), input(*x, kLow);
  Tensor out;
  if (!bias.defined())
    out = matmul_of(*input, w->t());
  else if (input->dim() == 2)
    out = addmm(*b, *input, w->t());
  else if (input->is_contiguous())
    out = flattened_linear(*input, *w, *b);
  else
    out = add_bias(matmul_of(*input, w->t()), *b);
  x.release();
  return out;
}

Tensor matmul(const In& a, const In& b) {
  const Autocasted other(*b, CastPolicy::lower_precision), self(*a, CastPolicy::lower_precision);
  Tensor out = matmul_of(*self, *other);
  a.release();
  b.release();
  return out;
}

Tensor Tensor::matmul(const In& other) const& { return ghost::matmul(*this, other); }
Tensor Tensor::matmul(const In& other) && { return ghost::matmul(std::move(*this), other); }

}  // namespace memtape::ghost
