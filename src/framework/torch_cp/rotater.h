// SPDX-License-Identifier: Apache-2.0
// Rotater: how a buffer gets from GPU to GPU (_RingRotater). It is either sent to the next GPU at
// every step, or gathered once from all GPUs, and then each step takes the part of one. What was
// sent lives until the receiver waits for it.
#pragma once

#include "framework/torch_cp/ring_attention.h"
#include "ghost/tensor.h"

namespace memtape::torch_cp {

class Rotater {
 public:
  Rotater(const Ring& ring, Rotation rotation) : size_(ring.size), rotation_(rotation) {}
  void exchange_buffers(const ghost::Tensor& buffer);
  /// The buffer of another GPU.
  ghost::Tensor next_buffer();

 private:
  std::int64_t size_;
  Rotation rotation_;
  ghost::Tensor sent_, buffer_;
};

/// The part of a flat buffer of keys and values that has the sizes of `like`, as a view.
ghost::Tensor part_of(const ghost::Tensor& buffer, const ghost::Tensor& like);

/// torch.cat([first.flatten(), second.flatten()])
ghost::Tensor flat_pair(const ghost::Tensor& first, const ghost::Tensor& second);

}  // namespace memtape::torch_cp
