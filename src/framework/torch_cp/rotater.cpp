// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_cp/rotater.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"

namespace memtape::torch_cp {

using ghost::Dims;
using ghost::Op;
using ghost::Tensor;

void Rotater::exchange_buffers(const Tensor& buffer) {
  const bool gathers = rotation_ == Rotation::all_gather;
  if (gathers && buffer_.defined()) return;
  const Op op(gathers ? "all_gather_into_tensor" : "all_to_all_single", {});
  buffer_ = ghost::empty({buffer.numel() * (gathers ? size_ : 1)}, buffer.dtype(),
                         Category::communication);
  sent_ = buffer;
}

Tensor Rotater::next_buffer() {
  sent_.reset();
  if (rotation_ == Rotation::all_to_all) return buffer_;
  return ghost::alias(buffer_, {buffer_.numel() / size_}, {1});
}

Tensor part_of(const Tensor& buffer, const Tensor& like) {
  return ghost::alias(buffer, like.sizes(), ghost::contiguous_strides(like.sizes()));
}

Tensor flat_pair(const Tensor& first, const Tensor& second) {
  const Tensor flat = first.reshape({-1}), other = second.reshape({-1});
  return ghost::cat({flat, other}, 0);
}

}  // namespace memtape::torch_cp
