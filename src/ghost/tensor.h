// SPDX-License-Identifier: Apache-2.0
// Tensor: a ghost of a torch.Tensor: sizes, strides, dtype, storage and autograd history, but no
// data.
//
// Lifetimes are Python's. A Storage writes an alloc event when it is made and a free event when its
// last reference goes. Methods on a temporary (`&&`) drop it as soon as the op has consumed it, as
// CPython drops an operand on its stack, so
//     act(gate(x)).mul(up(x))
// frees in Python's order. Write binary operators as methods: C++ evaluates the object before the
// arguments, left to right as Python does, while the order of a function's arguments is
// unspecified.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/dtype.h"
#include "ghost/dims.h"
#include "ghost/numbers.h"
#include "ghost/refcount.h"
#include "tape/tape.h"

namespace memtape::ghost {

struct Node;
class In;

/// A piece of device memory: one block of the tape. Views share it. Sharding frameworks empty it
/// and fill it again with another block (UntypedStorage.resize_): whoever shares it sees both.
struct Storage : RefCounted {
  BlockId block;
  StreamId stream;
  bool is_empty = false;  ///< resized to nothing: `block` is the last one it had
};
void destroy(Storage* storage);  ///< writes the free event

struct TensorImpl : RefCounted {
  DType dtype = DType::float32;
  bool requires_grad = false;   ///< of a leaf; others have a grad_fn
  std::uint32_t output_nr = 0;  ///< which output of grad_fn this is
  Dims sizes, strides;
  Ptr<Storage> storage;  ///< null: no device memory (empty, or a ghost of the host's)
  Ptr<TensorImpl> base;  ///< a differentiable view keeps its base alive (torch's ViewInfo::base_)
  Ptr<Node> grad_fn;
  Ptr<TensorImpl> grad;
  Node* accumulator = nullptr;  ///< the leaf's AccumulateGrad, while some graph holds it
};
void destroy(TensorImpl* impl);
TensorImpl* make_impl();  ///< from the pool

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ptr<TensorImpl> impl) : impl_(std::move(impl)) {}

  bool defined() const { return static_cast<bool>(impl_); }
  void reset() { impl_.reset(); }
  TensorImpl& impl() const { return *impl_; }
  const Ptr<TensorImpl>& ptr() const { return impl_; }

  const Dims& sizes() const { return impl_->sizes; }
  const Dims& strides() const { return impl_->strides; }
  std::int64_t size(int d) const { return impl_->sizes[d]; }
  int dim() const { return impl_->sizes.rank(); }
  std::int64_t numel() const { return ghost::numel(impl_->sizes); }
  DType dtype() const { return impl_->dtype; }
  Bytes nbytes() const { return bytes_of(dtype(), numel()); }
  bool is_contiguous() const { return ghost::is_contiguous(sizes(), strides()); }
  bool is_floating_point() const { return memtape::is_floating_point(dtype()); }
  bool is_leaf() const { return !impl_->grad_fn; }
  bool requires_grad() const { return impl_->requires_grad || impl_->grad_fn; }
  Tensor grad() const { return Tensor(impl_->grad); }

  // Views: no memory of their own (ops/views.h).
  Tensor view(const Dims& sizes) const&;
  Tensor view(const Dims& sizes) &&;
  Tensor transpose(int a, int b) const&;
  Tensor transpose(int a, int b) &&;
  Tensor t() const&;
  Tensor t() &&;
  Tensor permute(const Dims& order) const&;
  Tensor permute(const Dims& order) &&;
  Tensor unsqueeze(int d) const&;
  Tensor unsqueeze(int d) &&;
  Tensor squeeze(int d) const&;
  Tensor squeeze(int d) &&;
  Tensor expand(const Dims& sizes) const&;
  Tensor expand(const Dims& sizes) &&;
  /// [..., start:end, ...] along `d`; negative bounds count from the end, a bound past the end is
  /// the end.
  Tensor slice(int d, std::int64_t start, std::int64_t end) const&;
  Tensor slice(int d, std::int64_t start, std::int64_t end) &&;
  /// [..., index, ...] along `d`, which goes.
  Tensor select(int d, std::int64_t index) const&;
  Tensor select(int d, std::int64_t index) &&;
  Tensor detach() const&;
  Tensor detach() &&;
  std::vector<Tensor> chunk(std::int64_t chunks, int d) const;
  std::vector<Tensor> split(std::span<const std::int64_t> sizes, int d) const;

  // A view where the layout allows it, else a copy (ops/copies.h).
  Tensor reshape(const Dims& sizes) const&;
  Tensor reshape(const Dims& sizes) &&;
  Tensor contiguous() const&;
  Tensor contiguous() &&;
  Tensor clone() const&;
  Tensor clone() &&;
  Tensor to(DType dtype) const&;
  Tensor to(DType dtype) &&;
  Tensor to_float() const& { return to(DType::float32); }
  Tensor to_float() && { return std::move(*this).to(DType::float32); }

  // Pointwise (ops/pointwise.h).
  Tensor add(const In& other) const&;
  Tensor add(const In& other) &&;
  Tensor add(double scalar) const&;
  Tensor add(double scalar) &&;
  Tensor sub(const In& other) const&;
  Tensor sub(const In& other) &&;
  Tensor sub(double scalar) const&;
  Tensor sub(double scalar) &&;
  Tensor mul(const In& other) const&;
  Tensor mul(const In& other) &&;
  Tensor mul(double scalar) const&;
  Tensor mul(double scalar) &&;
  Tensor div(const In& other) const&;
  Tensor div(const In& other) &&;
  Tensor div(double scalar) const&;
  Tensor div(double scalar) &&;
  Tensor neg() const&;
  Tensor neg() &&;
  Tensor pow(double exponent) const&;
  Tensor pow(double exponent) &&;

  // Reductions (ops/reductions.h) and products (ops/matmul.h).
  Tensor sum(int d, bool keepdim = false) const&;
  Tensor sum(int d, bool keepdim = false) &&;
  Tensor mean(int d, bool keepdim = false) const&;
  Tensor mean(int d, bool keepdim = false) &&;
  Tensor matmul(const In& other) const&;
  Tensor matmul(const In& other) &&;

 private:
  Ptr<TensorImpl> impl_;
};

/// An operand: borrowed from a name, or taken over from a temporary and dropped by the op that
/// consumes it.
class In {
 public:
  In(const Tensor& tensor) : at_(&tensor) {}  // NOLINT(google-explicit-constructor)
  In(Tensor&& temporary)
      : own_(std::move(temporary)), at_(&own_) {}  // NOLINT(google-explicit-constructor)
  In(const In&) = delete;
  In& operator=(const In&) = delete;

  const Tensor& operator*() const { return *at_; }
  const Tensor* operator->() const { return at_; }
  /// Drops a temporary; a name is left alone.
  void release() const { own_.reset(); }

 private:
  mutable Tensor own_;
  const Tensor* at_;
};

}  // namespace memtape::ghost
