// SPDX-License-Identifier: Apache-2.0
// GraphAllocator: how much memory a graph's tensors need in each buffer (ggml-alloc.c): tensors are
// given places in the order of the nodes, the best fitting hole first; a result takes over its
// source's place where the op can work in place; a tensor's place is free again when its last user
// and last view are done.
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
  int tensors;  ///< the largest id and one
};

/// Bytes per entry of `buffers`; a buffer type that comes twice is counted where it comes first.
std::vector<Bytes> reserve(const AllocationPlan& plan);

}  // namespace memtape::ggml
