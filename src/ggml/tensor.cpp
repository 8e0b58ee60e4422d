// SPDX-License-Identifier: Apache-2.0
#include "ggml/tensor.h"

#include <algorithm>

namespace memtape::ggml {

Bytes BufferType::alloc_size(const Tensor& tensor) const { return bytes_of(tensor); }

void set_strides(Tensor& tensor) {
  tensor.nb[0] = block_bytes(tensor.type);
  tensor.nb[1] = tensor.nb[0] * (tensor.ne[0] / block_size(tensor.type));
  for (std::size_t i = 2; i < kMaxDims; ++i) tensor.nb[i] = tensor.nb[i - 1] * tensor.ne[i - 1];
}

Bytes bytes_of(const Tensor& t) {
  if (std::ranges::any_of(t.ne, [](std::int64_t n) { return n <= 0; })) return 0;
  const bool plain = block_size(t.type) == 1;
  Bytes bytes = plain ? block_bytes(t.type) : t.ne[0] * t.nb[0] / block_size(t.type);
  for (std::size_t i = plain ? 0 : 1; i < kMaxDims; ++i) bytes += (t.ne[i] - 1) * t.nb[i];
  return bytes;
}

bool is_contiguous_from(const Tensor& t, int dimension) {
  Bytes next = block_bytes(t.type);
  if (t.ne[0] != block_size(t.type) && t.nb[0] != next) return false;
  next *= t.ne[0] / block_size(t.type);
  for (std::size_t i = 1; i < kMaxDims; ++i) {
    if (static_cast<int>(i) > dimension) {
      if (t.ne[i] != 1 && t.nb[i] != next) return false;
      next *= t.ne[i];
    } else {
      next = t.ne[i] * t.nb[i];
    }
  }
  return true;
}

bool is_contiguous(const Tensor& t) { return is_contiguous_from(t, 0); }

bool has_contiguous_rows(const Tensor& t) {
  return t.ne[0] == block_size(t.type) || t.nb[0] == block_bytes(t.type);
}

bool same_shape(const Tensor& a, const Tensor& b) { return a.ne == b.ne; }

bool same_layout(const Tensor& a, const Tensor& b) {
  return a.type == b.type && a.ne == b.ne && a.nb == b.nb;
}

}  // namespace memtape::ggml
