// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/iterator.h"

#include <algorithm>
#include <utility>

#include "ghost/session.h"
#include "ghost/trace.h"

namespace memtape::ghost {
namespace {

/// Stride of operand `t` along output dimension `d`: 0 where it is broadcast.
std::int64_t stride_along(const Tensor& t, const Dims& sizes, int d) {
  const int own = d - (sizes.rank() - t.dim());
  if (own < 0 || (t.size(own) == 1 && sizes[d] != 1)) return 0;
  return t.strides()[own];
}

/// TensorIteratorBase::reorder_dimensions' should_swap: 1 if dimension `a` must come after `b` (is
/// larger in memory), -1 if before, 0 if no operand can tell.
int compare_dimensions(std::span<const Tensor* const> operands, const Dims& sizes, int a, int b) {
  for (const Tensor* t : operands) {
    const std::int64_t stride_a = stride_along(*t, sizes, a), stride_b = stride_along(*t, sizes, b);
    if (stride_a == 0 || stride_b == 0) continue;
    if (stride_a != stride_b) return stride_a < stride_b ? -1 : 1;
    if (sizes[a] > sizes[b]) return 1;
  }
  return 0;
}

int kind(DType t) { return t == DType::boolean ? 0 : is_floating_point(t) ? 2 : 1; }

DType wider(DType a, DType b) {
  if (a == b) return a;
  if (kind(a) != kind(b)) return kind(a) > kind(b) ? a : b;
  const bool halves = bits(a) == 16 && bits(b) == 16 && kind(a) == 2;
  if (halves) return DType::float32;  // float16 and bfloat16
  return bits(a) >= bits(b) ? a : b;
}

}  // namespace

Dims broadcast(const Dims& a, const Dims& b) {
  const Dims& longer = a.rank() >= b.rank() ? a : b;
  const Dims& shorter = a.rank() >= b.rank() ? b : a;
  Dims sizes = longer;
  const int shift = longer.rank() - shorter.rank();
  for (int i = 0; i < shorter.rank(); ++i)
    if (sizes[i + shift] == 1) sizes[i + shift] = shorter[i];
  return sizes;
}

DType promote(const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype()) return a.dtype();
  if (a.dim() == 0 && b.dim() > 0) return kind(a.dtype()) > kind(b.dtype()) ? a.dtype() : b.dtype();
  if (b.dim() == 0 && a.dim() > 0) return kind(b.dtype()) > kind(a.dtype()) ? b.dtype() : a.dtype();
  return wider(a.dtype(), b.dtype());
}

DType promote_with_number(const Tensor& a, bool number_is_float) {
  if (number_is_float && !a.is_floating_point()) return DType::float32;
  return a.dtype() == DType::boolean ? DType::int64 : a.dtype();
}

Dims output_strides(std::span<const Tensor* const> operands, const Dims& sizes) {
  // Fast path, as TensorIterator's: operands of the output's sizes that are all packed, or all
  // alike and dense.
  bool all_packed = true;
  for (const Tensor* t : operands)
    all_packed = all_packed && t->sizes() == sizes && t->is_contiguous();
  if (all_packed) return contiguous_strides(sizes);

  const int rank = sizes.rank();
  std::array<int, Dims::kMaxRank> order{};  // fastest dimension first
  for (int i = 0; i < rank; ++i) order[static_cast<std::size_t>(i)] = rank - 1 - i;
  for (int i = 1; i < rank; ++i) {
    int moving = i;
    for (int before = i - 1; before >= 0; --before) {
      const int compared =
          compare_dimensions(operands, sizes, order[static_cast<std::size_t>(before)],
                             order[static_cast<std::size_t>(moving)]);
      if (compared > 0) {
        std::swap(order[static_cast<std::size_t>(before)], order[static_cast<std::size_t>(moving)]);
        moving = before;
      } else if (compared < 0) {
        break;
      }
    }
  }
  Dims strides = sizes;
  std::int64_t step = 1;
  for (int i = 0; i < rank; ++i) {
    const int d = order[static_cast<std::size_t>(i)];
    strides[d] = step;
    step *= std::max<std::int64_t>(sizes[d], 1);
  }
  return strides;
}

Tensor pointwise_output(std::initializer_list<const Tensor*> operands, DType dtype) {
  traced_reads(operands);
  Dims sizes;
  for (const Tensor* t : operands) sizes = broadcast(sizes, t->sizes());
  return empty_strided(sizes, output_strides({operands.begin(), operands.size()}, sizes), dtype);
}

}  // namespace memtape::ghost
