// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/indexing.h"

#include <algorithm>
#include <bit>

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/cub.h"
#include "ghost/ops/views.h"

namespace memtape::ghost {
namespace {

Tensor int64s(const Dims& sizes) { return empty(sizes, DType::int64); }

/// A column of a matrix of indices: a view, which takes no memory.
Tensor int64_column(std::int64_t count) {
  auto* impl = make_impl();
  impl->dtype = DType::int64;
  impl->sizes = {count};
  impl->strides = {1};
  return Tensor(Ptr<TensorImpl>(impl));
}

/// computeLinearIndex: indices wrapped by remainder, times the stride of their dimension.
Tensor linear_index(const Tensor& indices) {
  const Tensor wrapped = int64s(indices.sizes());
  return int64s(indices.sizes());
}

/// expandTensors and its callers index with int64: other indices are converted.
Tensor as_int64(const Tensor& indices) {
  return indices.dtype() == DType::int32 ? int64s(indices.sizes()) : Tensor();
}

/// What index_put_with_sort_kernel of Indexing.cu takes to bring the rows together that name one
/// place: a sort over as many bits as the largest of `count` places in `self` has.
void sort_places(const Tensor& self, std::int64_t count, std::int64_t slice) {
  const Tensor sorted = int64s({count}), original = int64s({count});
  const auto largest = static_cast<std::uint64_t>((self.numel() - 1) / slice);
  const auto bits = static_cast<std::int64_t>(std::bit_width(std::max<std::uint64_t>(largest, 1)));
  const Tensor range = int64s({count});
  const Tensor temporary =
      empty({cub::radix_sort_pairs_bytes(session().device, count, 8, bits)}, DType::uint8);
}

void index_put_accumulate(const Tensor& self, int d, const Tensor& indices, const Tensor& value) {
  Op op("index_put_", {});
  Tensor converted = as_int64(indices);
  const Tensor linear = linear_index(indices);
  converted.reset();
  const Tensor packed = value.contiguous();
  const std::int64_t count = indices.numel(), slice = self.strides()[d];
  if (count > 0 && slice > 0) sort_places(self, count, slice);
}

Tensor indexing_scratch(Bytes bytes) { return empty({bytes}, DType::uint8); }

/// A mask as indices: one column of places for each of its dimensions, put together to linear ones.
void index_put_by_mask(const Tensor& self, const Tensor& mask, std::int64_t count) {
  Op op("index_put_", {});
  Tensor linear;
  {
    const Tensor places = nonzero(mask, count);
    if (count == 0) return;
    linear = linear_index(int64_column(count));
    for (int d = 1; d < mask.dim(); ++d) const Tensor added = linear_index(int64_column(count));
  }
  sort_places(self, count, self.strides()[mask.dim() - 1]);
}

struct IndexByMaskBackward final : Node {
  IndexByMaskBackward(const Dims& input, std::int64_t trues)
      : Node("IndexBackward0"), sizes(input), count(trues) {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor where = mask.unpack();
    out[0] = zeros(sizes, in[0].dtype());
    index_put_by_mask(out[0], where, count);
  }
  void release() override { mask.reset(); }
  Saved mask;
  Dims sizes;
  std::int64_t count;
};

/// masked_select_backward: zeros, into which the gradient is scattered (masked_scatter_); `self` is
/// kept for its sizes alone.
struct MaskedSelectBackward0 final : Node {
  MaskedSelectBackward0() : Node("MaskedSelectBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor like = self.unpack(), where = mask.unpack();
    out[0] = zeros(like.sizes(), in[0].dtype());
    Op op("masked_scatter_", {});
    const Tensor places = int64s(where.sizes());
    const Tensor temporary =
        indexing_scratch(cub::inclusive_sum_bytes(DType::int64, where.numel()));
  }
  void release() override {
    mask.reset();
    self.reset();
  }
  Saved self, mask;
};

/// masked_scatter_backward: grad.masked_select(mask).
struct MaskedScatterBackward0 final : Node {
  explicit MaskedScatterBackward0(const Dims& source)
      : Node("MaskedScatterBackward0"), sizes(source) {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor where = mask.unpack();
    const Tensor places = nonzero(where, ghost::numel(sizes));
    out[0] = empty(sizes, in[0].dtype());
  }
  void release() override { mask.reset(); }
  Saved mask;
  Dims sizes;
};

/// Gradients of picked elements go back into zeros.
struct PickBackward : Node {
  PickBackward(const char* node_name, const Dims& input) : Node(node_name), sizes(input) {}
  void release() override { indices.reset(); }
  Saved indices;
  Dims sizes;
};

struct IndexBackward0 final : PickBackward {
  explicit IndexBackward0(const Dims& input, int d = 0)
      : PickBackward("IndexBackward0", input), dimension(d) {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor where = indices.unpack();
    out[0] = zeros(sizes, in[0].dtype());
    index_put_accumulate(out[0], dimension, where, in[0]);
  }
  int dimension;
};

/// grad.new_zeros(sizes).index_add_(0, index, grad), for self.
struct IndexSelectBackward0 final : PickBackward {
  explicit IndexSelectBackward0(const Dims& input) : PickBackward("IndexSelectBackward0", input) {}
  void apply(Gradients& in, Gradients& out) override { out[0] = zeros(sizes, in[0].dtype()); }
};

/// Picked with indices into two dimensions, put together to linear ones.
struct IndexPairsBackward final : Node {
  explicit IndexPairsBackward(const Dims& input) : Node("IndexBackward0"), sizes(input) {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor rows = first.unpack(), columns = second.unpack();
    out[0] = zeros(sizes, in[0].dtype());
    Op op("index_put_", {});
    const Tensor linear = linear_index(rows);
    {
      const Tensor added = linear_index(columns);
    }
    const Tensor packed = in[0].contiguous();
    if (rows.numel() > 0) sort_places(out[0], rows.numel(), out[0].strides()[1]);
  }
  void release() override {
    first.reset();
    second.reset();
  }
  Saved first, second;
  Dims sizes;
};

/// grad for self, grad.index_select(0, index) for the source, which is kept for its sizes alone.
struct IndexAddBackward0 final : Node {
  IndexAddBackward0() : Node("IndexAddBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor where = indices.unpack(), kept = source.unpack();
    if (wants(0)) out[0] = in[0];
    if (!wants(1)) return;
    Op op("index_select", {});
    out[1] = empty(kept.sizes(), in[0].dtype());
  }
  void release() override {
    indices.reset();
    source.reset();
  }
  Saved indices, source;
};

/// gather_backward(grad, self, ...): scatter_add_ needs no memory of its own; `self` is kept for
/// its sizes alone.
struct GatherBackward0 final : PickBackward {
  explicit GatherBackward0(const Dims& input) : PickBackward("GatherBackward0", input) {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor where = indices.unpack();
    out[0] = zeros(sizes, in[0].dtype());
  }
  void release() override {
    PickBackward::release();
    self.reset();
  }
  Saved self;
};

/// grad.scatter(dim, index, 0).
struct ScatterBackward1 final : PickBackward {
  explicit ScatterBackward1(const Dims& input) : PickBackward("ScatterBackward1", input) {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor where = indices.unpack();
    Op op("scatter", {});
    out[0] = empty_like(in[0], in[0].dtype());
  }
};

/// The source's gradient is gathered from where it was put.
struct ScatterBackward0 final : Node {
  explicit ScatterBackward0(const char* node_name = "ScatterBackward0") : Node(node_name) {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor where = indices.unpack();
    out[0] = gather(in[0], where);
  }
  void release() override { indices.reset(); }
  Saved indices;
};

/// grad.index_select(dim, index).expand_as(source): `source` is kept for its sizes alone.
struct IndexCopyBackward0 final : Node {
  IndexCopyBackward0() : Node("IndexCopyBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor where = indices.unpack(), put = source.unpack();
    Op op("index_select", {});
    out[0] = empty(put.sizes(), in[0].dtype());
  }
  void release() override {
    indices.reset();
    source.reset();
  }
  Saved indices, source;
};

template <class N, class... Args>
Tensor pick(const char* name, const In& self, const In& indices, const Dims& sizes, Args... args) {
  Op op(name, {&self, &indices});
  Ptr<N> node;
  if (op.differentiable()) {
    node = op.node<N>({&*self}, self->sizes(), args...);
    node->indices.keep(*indices);
    if constexpr (requires { node->self; }) node->self.keep(*self);
  }
  Tensor out = empty(sizes, self->dtype());
  if (node) set_history(out, node);
  return out;
}

}  // namespace

Tensor nonzero(const Tensor& mask, std::int64_t count) {
  Op op("nonzero", {});
  const Tensor packed = mask.contiguous();
  const Tensor found = empty({}, DType::int32);
  {
    const Tensor temporary = indexing_scratch(cub::reduce_bytes(session().device, mask.numel()));
  }
  Tensor places = int64s({mask.dim(), count});
  const Tensor temporary =
      indexing_scratch(cub::select_flagged_bytes(session().device, mask.numel()));
  return alias(places, {count, mask.dim()}, {1, count});
}

Tensor index(const In& self, const In& indices) {
  Dims sizes = indices->sizes();
  for (int d = 1; d < self->dim(); ++d) sizes.push_back(self->size(d));
  const Tensor converted = as_int64(*indices);
  return pick<IndexBackward0>("index", self, indices, sizes);
}

Tensor index_select(const In& self, const In& rows) {
  Dims sizes = self->sizes();
  sizes[0] = rows->numel();
  return pick<IndexSelectBackward0>("index_select", self, rows, sizes);
}

Tensor take_along_rows(const In& self, const In& rows) {
  Op op("take_along_dim", {&self, &rows});
  Dims sizes = self->sizes();
  sizes[1] = rows->size(1);
  const Tensor wrapped = int64s(sizes);
  return empty(sizes, self->dtype());
}

Tensor index_pairs(const In& self, const Tensor& rows, const Tensor& columns) {
  Op op("index", {&self});
  Dims sizes = self->sizes();
  sizes.erase(0);
  sizes[0] = rows.numel();
  Ptr<IndexPairsBackward> node;
  if (op.differentiable()) {
    node = op.node<IndexPairsBackward>({&*self}, self->sizes());
    node->first.keep(rows);
    node->second.keep(columns);
  }
  Tensor out = empty(sizes, self->dtype());
  if (node) set_history(out, node);
  return out;
}

void index_add_(const Tensor& self, const Tensor& indices, const In& source) {
  const In target(self);
  Op op("index_add_", {&target, &source});
  if (!op.differentiable()) return;
  const Ptr<IndexAddBackward0> node = op.node<IndexAddBackward0>({&self, &*source});
  if (node->wants(1)) {
    node->indices.keep(indices);
    node->source.keep(*source);
  }
  set_history(self, node);
}

Tensor one_hot(const Tensor& indices, std::int64_t classes) {
  Op op("one_hot", {});
  return int64s(indices.sizes().with(classes));
}

Tensor index_columns(const In& self, const In& indices) {
  Op op("index", {&self, &indices});
  return empty({self->size(0), indices->numel()}, self->dtype());
}

Tensor index_one(const In& self, int d) {
  d = wrap(d, self->dim());
  Dims sizes = self->sizes();
  sizes[d] = 1;
  Tensor indices;
  {
    Op op("tensor", {});
    indices = int64s({1});
  }
  return pick<IndexBackward0>("index", self, indices, sizes, d);
}

Tensor gather(const In& self, const In& indices) {
  return pick<GatherBackward0>("gather", self, indices, indices->sizes());
}

void scatter_(Tensor& self, const In& indices, const In& source) {
  Op op("scatter_", {&indices, &source});
  if (!op.differentiable()) return;
  const Ptr<ScatterBackward0> node = op.node<ScatterBackward0>({&*source});
  node->indices.keep(*indices);
  set_history(self, node);
}

Tensor scatter(const In& self, const In& indices, const In& source) {
  Op op("scatter", {&self, &indices, &source});
  Tensor out = empty(self->sizes(), self->dtype());
  if (!op.differentiable()) return out;
  const Ptr<ScatterBackward0> node = op.node<ScatterBackward0>({&*source});
  node->indices.keep(*indices);
  set_history(out, node);
  return out;
}

void scatter_add_(Tensor& self, const In& indices, const In& source) {
  Op op("scatter_add_", {&indices, &source});
  if (!op.differentiable()) return;
  const Ptr<ScatterBackward0> node = op.node<ScatterBackward0>({&*source}, "ScatterAddBackward0");
  node->indices.keep(*indices);
  set_history(self, node);
}

Tensor index_copy_last(const Tensor& self, const Tensor& indices, const In& source) {
  Op op("index_copy_", {&source});
  if (!op.differentiable()) return self;
  const Ptr<IndexCopyBackward0> node = op.node<IndexCopyBackward0>({&*source});
  node->indices.keep(indices);
  node->source.keep(*source);
  set_history(self, node);
  return self;
}

Tensor scatter_number(const In& self, const In& indices) {
  return pick<ScatterBackward1>("scatter", self, indices, self->sizes());
}

Tensor index_by_mask(const In& self, const Tensor& mask, std::int64_t count) {
  Op op("index", {&self});
  Ptr<IndexByMaskBackward> node;
  if (op.differentiable()) {
    node = op.node<IndexByMaskBackward>({&*self}, self->sizes(), count);
    node->mask.keep(mask);
  }
  const Tensor places = nonzero(mask, count);
  Dims sizes{count};
  for (int d = mask.dim(); d < self->dim(); ++d) sizes.push_back(self->size(d));
  Tensor out = empty(sizes, self->dtype());
  if (node) set_history(out, node);
  return out;
}

Tensor masked_select(const In& self, const In& mask, std::int64_t count) {
  Op op("masked_select", {&self, &mask});
  Ptr<MaskedSelectBackward0> node;
  if (op.differentiable()) {
    node = op.node<MaskedSelectBackward0>({&*self});
    node->self.keep(*self);
    node->mask.keep(*mask);
  }
  const Tensor places = nonzero(*mask, count);
  Tensor out = empty({count}, self->dtype());
  if (node) set_history(out, node);
  return out;
}

Tensor masked_scatter(const In& self, const Tensor& mask, const Tensor& source) {
  Op op("masked_scatter", {&self});
  Ptr<MaskedScatterBackward0> node;
  if (session().grad_enabled && !session().skipping && source.requires_grad()) {
    node = op.node<MaskedScatterBackward0>({&source}, source.sizes());
    node->mask.keep(mask);
  }
  Tensor out = empty(self->sizes(), self->dtype());
  const Tensor places = int64s(mask.sizes());
  const Tensor temporary = indexing_scratch(cub::inclusive_sum_bytes(DType::int64, mask.numel()));
  if (node) set_history(out, node);
  return out;
}

}  // namespace memtape::ghost
