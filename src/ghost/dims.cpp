// SPDX-License-Identifier: Apache-2.0
#include "ghost/dims.h"

#include <algorithm>
#include <array>
#include <limits>

namespace memtape::ghost {

namespace {

/// Steps of tensors that could never exist stay numbers; the session refuses their memory.
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max()
                                                : product;
}

}  // namespace

std::int64_t numel(const Dims& sizes) {
  std::int64_t n = 1;
  for (std::int64_t s : sizes) n = times(n, s);
  return n;
}

Dims contiguous_strides(const Dims& sizes) {
  Dims strides = sizes;
  std::int64_t step = 1;
  for (int i = sizes.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step = times(step, std::max<std::int64_t>(sizes[i], 1));
  }
  return strides;
}

bool is_contiguous(const Dims& sizes, const Dims& strides) {
  std::int64_t step = 1;
  for (int i = sizes.rank() - 1; i >= 0; --i) {
    if (sizes[i] == 1) continue;
    if (strides[i] != step) return false;
    step = times(step, sizes[i]);
  }
  return true;
}

bool is_non_overlapping_and_dense(const Dims& sizes, const Dims& strides) {
  if (is_contiguous(sizes, strides)) return true;
  const int rank = sizes.rank();
  std::array<int, Dims::kMaxRank> order{};  // smallest stride first, dimensions of one element last
  const auto before = [&](int x, int y) {
    if (sizes[x] < 2 || sizes[y] < 2) return sizes[y] < 2 && sizes[x] >= 2;
    return strides[x] < strides[y];
  };
  for (int i = 0; i < rank; ++i) {
    int at = i;
    for (; at > 0 && before(i, order[static_cast<std::size_t>(at - 1)]); --at)
      order[static_cast<std::size_t>(at)] = order[static_cast<std::size_t>(at - 1)];
    order[static_cast<std::size_t>(at)] = i;
  }
  std::int64_t step = 1;
  for (int i = 0; i < rank; ++i) {
    const int d = order[static_cast<std::size_t>(i)];
    if (sizes[d] < 2) return true;
    if (strides[d] != step) return false;
    step = times(step, sizes[d]);
  }
  return true;
}

}  // namespace memtape::ghost
