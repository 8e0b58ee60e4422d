// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/views.h"

#include <algorithm>

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/reductions.h"
#include "release/torch_changes.h"

namespace memtape::ghost {
namespace {

Tensor share(const Tensor& tensor, const Dims& sizes, const Dims& strides, bool keeps_base) {
  const TensorImpl& from = tensor.impl();
  auto* impl = make_impl();
  impl->dtype = from.dtype;
  impl->sizes = sizes;
  impl->strides = strides;
  impl->storage = from.storage;
  if (keeps_base) impl->base = from.base ? from.base : tensor.ptr();
  return Tensor(Ptr<TensorImpl>(impl));
}

/// A view's node whose gradient is the gradient reshaped: view, unsafe_view, reshape.
struct ReshapeBackward final : Node {
  ReshapeBackward(const char* node_name, const Dims& input) : Node(node_name), sizes(input) {}
  void apply(Gradients& in, Gradients& out) override { out[0] = in[0].reshape(sizes); }
  void release() override {}
  Dims sizes;
};

struct TransposeBackward final : Node {
  TransposeBackward(const char* node_name, int a, int b) : Node(node_name), first(a), second(b) {}
  void apply(Gradients& in, Gradients& out) override { out[0] = in[0].transpose(first, second); }
  void release() override {}
  int first, second;
};

struct PermuteBackward0 final : Node {
  explicit PermuteBackward0(const Dims& forward_order)
      : Node("PermuteBackward0"), order(forward_order) {}
  void apply(Gradients& in, Gradients& out) override {
    Dims inverse = order;
    for (int i = 0; i < order.rank(); ++i) inverse[static_cast<int>(order[i])] = i;
    out[0] = in[0].permute(inverse);
  }
  void release() override {}
  Dims order;
};

struct UnsqueezeBackward0 final : Node {
  explicit UnsqueezeBackward0(int d) : Node("UnsqueezeBackward0"), dimension(d) {}
  void apply(Gradients& in, Gradients& out) override { out[0] = in[0].squeeze(dimension); }
  void release() override {}
  int dimension;
};

struct SqueezeBackward1 final : Node {
  SqueezeBackward1(int d, bool was_one)
      : Node("SqueezeBackward1"), dimension(d), removed(was_one) {}
  void apply(Gradients& in, Gradients& out) override {
    out[0] = removed ? in[0].unsqueeze(dimension) : in[0];
  }
  void release() override {}
  int dimension;
  bool removed;
};

struct ExpandBackward0 final : Node {
  explicit ExpandBackward0(const Dims& input) : Node("ExpandBackward0"), sizes(input) {}
  void apply(Gradients& in, Gradients& out) override { out[0] = sum_to(in[0], sizes); }
  void release() override {}
  Dims sizes;
};

struct AliasBackward0 final : Node {
  AliasBackward0() : Node("AliasBackward0") {}
  void apply(Gradients& in, Gradients& out) override { out[0] = in[0]; }
  void release() override {}
};

/// slice_backward, select_backward: zeros of the input's sizes into which the gradient is copied.
struct SliceBackward final : Node {
  SliceBackward(const char* node_name, const Dims& input) : Node(node_name), sizes(input) {}
  void apply(Gradients& in, Gradients& out) override { out[0] = zeros(sizes, in[0].dtype()); }
  void release() override {}
  Dims sizes;
};

template <class N, class... Args>
Tensor view_of(const char* op_name, const In& self, const Dims& sizes, const Dims& strides,
               Args&&... args) {
  Op op(op_name, {&self});
  Tensor out = share(*self, sizes, strides, true);
  if (op.differentiable()) set_history(out, op.node<N>({&*self}, std::forward<Args>(args)...));
  return out;
}

Tensor view_op(const In& self, const Dims& wanted) {
  const Dims sizes = infer_size(wanted, self->numel());
  const std::optional<Dims> strides = strides_as_view(self->sizes(), self->strides(), sizes);
  if (!strides)
    session().fail(
        {ErrorKind::internal, "view: sizes do not fit the tensor's layout", session().op, ""});
  return view_of<ReshapeBackward>("view", self, sizes, strides.value_or(contiguous_strides(sizes)),
                                  "ViewBackward0", self->sizes());
}

Tensor transpose_op(const In& self, int a, int b, const char* node) {
  Dims sizes = self->sizes(), strides = self->strides();
  a = wrap(a, sizes.rank());
  b = wrap(b, sizes.rank());
  std::swap(sizes[a], sizes[b]);
  std::swap(strides[a], strides[b]);
  return view_of<TransposeBackward>("transpose", self, sizes, strides, node, a, b);
}

Tensor permute_op(const In& self, const Dims& order) {
  Dims sizes = order, strides = order, positive = order;
  for (int i = 0; i < order.rank(); ++i) {
    positive[i] = wrap(static_cast<int>(order[i]), self->dim());
    sizes[i] = self->size(static_cast<int>(positive[i]));
    strides[i] = self->strides()[static_cast<int>(positive[i])];
  }
  return view_of<PermuteBackward0>("permute", self, sizes, strides, positive);
}

Tensor unsqueeze_op(const In& self, int d) {
  d = wrap(d, self->dim() + 1);
  Dims sizes = self->sizes(), strides = self->strides();
  const std::int64_t stride = d < self->dim() ? sizes[d] * strides[d] : 1;
  sizes.insert(d, 1);
  strides.insert(d, stride);
  return view_of<UnsqueezeBackward0>("unsqueeze", self, sizes, strides, d);
}

Tensor squeeze_op(const In& self, int d) {
  d = wrap(d, self->dim());
  Dims sizes = self->sizes(), strides = self->strides();
  const bool removed = sizes[d] == 1;
  if (removed) {
    sizes.erase(d);
    strides.erase(d);
  }
  return view_of<SqueezeBackward1>("squeeze", self, sizes, strides, d, removed);
}

Tensor expand_op(const In& self, const Dims& wanted) {
  Dims sizes = wanted, strides = wanted;
  const int shift = wanted.rank() - self->dim();
  for (int i = 0; i < wanted.rank(); ++i) {
    const bool own = i >= shift;
    const std::int64_t size = own ? self->size(i - shift) : 1;
    if (wanted[i] < 0) sizes[i] = size;
    strides[i] = own && size == sizes[i] ? self->strides()[i - shift] : 0;
  }
  return view_of<ExpandBackward0>("expand", self, sizes, strides, self->sizes());
}

Tensor slice_op(const In& self, int d, std::int64_t start, std::int64_t end) {
  d = wrap(d, self->dim());
  Dims sizes = self->sizes();
  const std::int64_t size = sizes[d];
  const auto clamped = [size](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
  };
  sizes[d] = std::max<std::int64_t>(clamped(end) - clamped(start), 0);
  // Python's x[..., :n] over all of a dimension is at::alias, no slice
  // (torch/csrc/autograd/python_variable_indexing.cpp).
  if (sizes[d] == size) return view_of<AliasBackward0>("alias", self, sizes, self->strides());
  return view_of<SliceBackward>("slice", self, sizes, self->strides(), "SliceBackward0",
                                self->sizes());
}

Tensor select_op(const In& self, int d) {
  d = wrap(d, self->dim());
  Dims sizes = self->sizes(), strides = self->strides();
  sizes.erase(d);
  strides.erase(d);
  return view_of<SliceBackward>("select", self, sizes, strides, "SelectBackward0", self->sizes());
}

/// detach: shares the storage but is no differentiable view, so it does not hold the base.
Tensor detach_op(const In& self) {
  Op op("detach", {&self});
  return share(*self, self->sizes(), self->strides(), false);
}

}  // namespace

std::optional<Dims> strides_as_view(const Dims& sizes, const Dims& strides, const Dims& wanted) {
  if (numel(sizes) == 0 || sizes.rank() == 0) return contiguous_strides(wanted);
  Dims result = wanted;
  int at = wanted.rank() - 1;
  std::int64_t base_stride = strides.back(), group = 1, covered = 1;
  for (int d = sizes.rank() - 1; d >= 0; --d) {
    group *= sizes[d];
    const bool chunk_ends = d == 0 || (sizes[d - 1] != 1 && strides[d - 1] != group * base_stride);
    if (!chunk_ends) continue;
    while (at >= 0 && (covered < group || wanted[at] == 1)) {
      result[at] = covered * base_stride;
      covered *= wanted[at];
      --at;
    }
    if (covered != group) return std::nullopt;
    if (d > 0) {
      base_stride = strides[d - 1];
      group = covered = 1;
    }
  }
  if (at != -1) return std::nullopt;
  return result;
}

Dims infer_size(const Dims& wanted, std::int64_t count) {
  Dims sizes = wanted;
  std::int64_t known = 1;
  int open = -1;
  for (int i = 0; i < wanted.rank(); ++i) {
    if (wanted[i] < 0)
      open = i;
    else
      known *= wanted[i];
  }
  if (open >= 0) sizes[open] = known > 0 ? count / known : 0;
  return sizes;
}

Tensor alias(const Tensor& tensor, const Dims& sizes, const Dims& strides) {
  return share(tensor, sizes, strides, true);
}

Tensor indexed_by_colons(const Tensor& x, int colons) {
  Tensor out = x;
  if (has(changes::kColonsMakeNoSlice)) return out;
  for (int i = 0; i < colons; ++i)
    out = view_of<SliceBackward>("slice", out, x.sizes(), x.strides(), "SliceBackward0", x.sizes());
  return out;
}

Tensor strided_slice(const In& self, int d, std::int64_t start, std::int64_t step) {
  d = wrap(d, self->dim());
  Dims sizes = self->sizes(), strides = self->strides();
  sizes[d] = ceil_div(std::max<std::int64_t>(sizes[d] - start, 0), step);
  strides[d] *= step;
  return view_of<SliceBackward>("slice", self, sizes, strides, "SliceBackward0", self->sizes());
}

Tensor unsafe_view(const In& self, const Dims& wanted) {
  Op op("_unsafe_view", {&self});
  const Dims sizes = infer_size(wanted, self->numel());
  Tensor out = share(*self, sizes, contiguous_strides(sizes), false);
  if (op.differentiable())
    set_history(out, op.node<ReshapeBackward>({&*self}, "UnsafeViewBackward0", self->sizes()));
  return out;
}

Tensor Tensor::view(const Dims& sizes) const& { return view_op(*this, sizes); }
Tensor Tensor::view(const Dims& sizes) && { return view_op(std::move(*this), sizes); }
Tensor Tensor::transpose(int a, int b) const& {
  return transpose_op(*this, a, b, "TransposeBackward0");
}
Tensor Tensor::transpose(int a, int b) && {
  return transpose_op(std::move(*this), a, b, "TransposeBackward0");
}
Tensor Tensor::t() const& { return transpose_op(*this, 0, 1, "TBackward0"); }
Tensor Tensor::t() && { return transpose_op(std::move(*this), 0, 1, "TBackward0"); }
Tensor Tensor::permute(const Dims& order) const& { return permute_op(*this, order); }
Tensor Tensor::permute(const Dims& order) && { return permute_op(std::move(*this), order); }
Tensor Tensor::unsqueeze(int d) const& { return unsqueeze_op(*this, d); }
Tensor Tensor::unsqueeze(int d) && { return unsqueeze_op(std::move(*this), d); }
Tensor Tensor::squeeze(int d) const& { return squeeze_op(*this, d); }
Tensor Tensor::squeeze(int d) && { return squeeze_op(std::move(*this), d); }
Tensor Tensor::expand(const Dims& sizes) const& { return expand_op(*this, sizes); }
Tensor Tensor::expand(const Dims& sizes) && { return expand_op(std::move(*this), sizes); }
Tensor Tensor::slice(int d, std::int64_t start, std::int64_t end) const& {
  return slice_op(*this, d, start, end);
}
Tensor Tensor::slice(int d, std::int64_t start, std::int64_t end) && {
  return slice_op(std::move(*this), d, start, end);
}
Tensor Tensor::select(int d, std::int64_t) const& { return select_op(*this, d); }
Tensor Tensor::select(int d, std::int64_t) && { return select_op(std::move(*this), d); }
Tensor Tensor::detach() const& { return detach_op(*this); }
Tensor Tensor::detach() && { return detach_op(std::move(*this)); }

}  // namespace memtape::ghost
