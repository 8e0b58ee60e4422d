// SPDX-License-Identifier: Apache-2.0
// The CUTLASS kernels behind memory-efficient attention and the scratch memory each needs
// (aten/src/ATen/native/transformers/cuda/mem_eff_attention: kernels/cutlassB.h, kernel_forward.h,
// kernel_backward.h).
#pragma once

#include "ghost/session.h"

namespace memtape::ghost {

struct EfficientShape {
  std::int64_t batch, heads, queries, keys, head, value_head;
  bool dropout = false;
};

/// A backward kernel: its blocks of queries and keys, and where it adds up gradients.
struct EfficientBackwardKernel {
  std::int64_t block_queries, block_keys;
  bool adds_query_gradients;  ///< in scratch memory (kNeedsAccumGradQ)
  bool adds_key_gradients;    ///< in scratch memory rather than registers (kNeedsAccumGradK,
                              ///< kNeedsAccumGradV)
  bool splits_keys;           ///< kEnableSplitKeys
  bool computes_delta;        ///< kKernelComputesDelta: else the caller sums grad * out

  /// Params::workspace_size.
  Bytes workspace(const EfficientShape& shape) const;
};

/// dispatch_cutlassB's first kernel that takes the head and whose shared memory the device has.
EfficientBackwardKernel efficient_backward_kernel(const DeviceTraits& device, DType dtype,
                                                  const EfficientShape& shape);

/// kNeedsOutputAccumulatorBuffer: heads too wide for registers, and an output that is not float32
/// itself.
bool efficient_forward_accumulates(DType dtype, const EfficientShape& shape);

}  // namespace memtape::ghost
