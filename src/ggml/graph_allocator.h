// SPDX-License-Identifier: Apache-2.0
// GraphAllocator: how much memory the tensors of a graph need in each buffer (ggml-alloc.c).
// Tensors get places in the order of the nodes, each in the smallest hole that fits. A result takes
// over the place of its source if the op can work in place. A tensor's place is free again when its
// last user and its last view are done.
#pragma once

#include <span>
#include <vector>

#include "ggml/tensor.h"

namespace memtape::ggml {

/// A tensor and the buffer that it goes to.
struct Placed {
  Tensor* tensor;
  int buffer;
};

struct AllocationPlan {
  std::span<const Placed> nodes, leafs;
  std::span<const BufferType* const> buffers;
  int tensors;  ///< one more than the largest id
};

/// The bytes for each entry of `buffers`. A buffer type that occurs twice is counted at its first
/// entry.
std::vector<Bytes> reserve(const AllocationPlan& plan);

}  // namespace memtape::ggml
