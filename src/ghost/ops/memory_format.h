// SPDX-License-Identifier: Apache-2.0
// The order of dimensions in memory that torch suggests for what is made of a tensor
// (Tensor::suggest_memory_format, c10/core/MemoryFormat.h).
#pragma once

#include <algorithm>

#include "ghost/session.h"

namespace memtape::ghost {

/// is_channels_last_strides_2d and _3d: whether the second dimension is the innermost, then the last
/// one and on to the first.
inline bool lies_channels_last(const Tensor& x) {
  const int rank = x.sizes().rank();
  if ((rank != 4 && rank != 5) || x.strides()[1] == 0) return false;
  std::int64_t least = 0;
  const auto lies_outside = [&](int d) {
    if (x.size(d) == 0 || x.strides()[d] < least) return false;
    if (d == 0 && least == x.strides()[1]) return false;  // all others are of size one
    least = x.strides()[d] * std::max<std::int64_t>(x.size(d), 1);
    return true;
  };
  if (!lies_outside(1)) return false;
  for (int d = rank - 1; d > 1; --d)
    if (!lies_outside(d)) return false;
  return lies_outside(0);
}

inline Tensor empty_channels_last(const Dims& sizes, DType dtype) {
  Dims strides = Dims::filled(sizes.rank(), 1);
  std::int64_t next = sizes[1];
  for (int d = sizes.rank() - 1; d > 1; --d) {
    strides[d] = next;
    next *= sizes[d];
  }
  strides[0] = next;
  return empty_strided(sizes, strides, dtype);
}

}  // namespace memtape::ghost
