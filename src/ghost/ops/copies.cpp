// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/copies.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/to_packed.h"
#include "ghost/ops/views.h"

namespace memtape::ghost {
namespace {

struct CloneBackward0 final : Node {
  CloneBackward0() : Node("CloneBackward0") {}
  void apply(Gradients& in, Gradients& out) override { out[0] = in[0]; }
  void release() override {}
};

struct ToCopyBackward0 final : Node {
  explicit ToCopyBackward0(DType from) : Node("ToCopyBackward0"), dtype(from) {}
  void apply(Gradients& in, Gradients& out) override { out[0] = in[0].to(dtype); }
  void release() override {}
  DType dtype;
};

/// repeat_backward: the gradients of the copies summed.
struct RepeatBackward0 final : Node {
  explicit RepeatBackward0(std::int64_t copies) : Node("RepeatBackward0"), times(copies) {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor by_copy = in[0].reshape({times, in[0].size(0) / times, in[0].size(1)});
    out[0] = by_copy.sum(0);
  }
  void release() override {}
  std::int64_t times;
};

Tensor clone_op(const In& self, bool packed) {
  Op op("clone", {&self});
  Tensor out = packed ? empty(self->sizes(), self->dtype()) : empty_like(*self, self->dtype());
  if (op.differentiable()) set_history(out, op.node<CloneBackward0>({&*self}));
  return out;
}

/// Tensor.to(dtype): itself where nothing changes.
Tensor to_op(const In& self, DType dtype) {
  if (self->dtype() == dtype) {
    Tensor same = *self;
    self.release();
    return same;
  }
  Op op("_to_copy", {&self});
  Tensor out = empty_like(*self, dtype);
  if (op.differentiable() && is_floating_point(dtype))
    set_history(out, op.node<ToCopyBackward0>({&*self}, self->dtype()));
  return out;
}

Tensor to_packed_op(const In& self, DType dtype) {
  Op op("_to_copy", {&self});
  Tensor out = empty(self->sizes(), dtype);
  if (op.differentiable()) set_history(out, op.node<ToCopyBackward0>({&*self}, self->dtype()));
  return out;
}

Tensor contiguous_op(const In& self) {
  if (!self->is_contiguous()) return clone_op(self, true);
  Tensor same = *self;
  self.release();
  return same;
}

/// at::reshape: a view where strides allow, else _unsafe_view of a packed copy.
Tensor reshape_op(const In& self, const Dims& wanted) {
  const Dims sizes = infer_size(wanted, self->numel());
  if (strides_as_view(self->sizes(), self->strides(), sizes)) {
    Tensor viewed = self->view(sizes);
    self.release();
    return viewed;
  }
  return unsafe_view(clone_op(self, true), sizes);
}

}  // namespace

Tensor copy_as(const Tensor& tensor, const Tensor& like) {
  Op op("clone", {});
  return empty_strided(tensor.sizes(), like.strides(), tensor.dtype());
}

Tensor clone_contiguous(const In& self) { return clone_op(self, true); }

Tensor repeat_interleave(const Tensor& self, std::int64_t times, int d) {
  d = wrap(d, self.dim());
  Dims sizes = self.sizes();
  Dims spread = sizes;
  spread.insert(d + 1, times);
  sizes[d] *= times;
  return clone_contiguous(self.unsqueeze(d + 1).expand(spread)).view(sizes);
}

Tensor repeat_rows(const In& self, std::int64_t times) {
  Op op("repeat", {&self});
  Tensor out = empty({times * self->size(0), self->size(1)}, self->dtype());
  if (op.differentiable()) set_history(out, op.node<RepeatBackward0>({&*self}, times));
  return out;
}

Tensor to_packed(const In& self, DType dtype) {
  if (self->dtype() != dtype) return to_packed_op(self, dtype);
  Tensor same = *self;
  self.release();
  return same;
}

Tensor Tensor::clone() const& { return clone_op(*this, false); }
Tensor Tensor::clone() && { return clone_op(std::move(*this), false); }
Tensor Tensor::to(DType dtype) const& { return to_op(*this, dtype); }
Tensor Tensor::to(DType dtype) && { return to_op(std::move(*this), dtype); }
Tensor Tensor::contiguous() const& { return contiguous_op(*this); }
Tensor Tensor::contiguous() && { return contiguous_op(std::move(*this)); }
Tensor Tensor::reshape(const Dims& sizes) const& { return reshape_op(*this, sizes); }
Tensor Tensor::reshape(const Dims& sizes) && { return reshape_op(std::move(*this), sizes); }

}  // namespace memtape::ghost
