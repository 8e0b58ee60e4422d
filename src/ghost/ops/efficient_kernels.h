// SPDX-License-Identifier: Apache-2.0
// The CUTLASS kernels behind memory-efficient attention, and the scratch memory that each needs
// (aten/src/ATen/native/transformers/cuda/mem_eff_attention: kernels/cutlassB.h, kernel_forward.h,
// kernel_backward.h).
#pragma once

#include "ghost/session.h"

namespace memtape::ghost {

struct EfficientShape {
  std::int64_t batch, heads, queries, keys, head, value_head;
  bool dropout = false;
};

/// A backward kernel: the sizes of its blocks of queries and keys, and where it adds up the
/// gradients.
struct EfficientBackwardKernel {
  std::int64_t block_queries, block_keys;
  bool adds_query_gradients;  ///< in scratch memory (kNeedsAccumGradQ)
  bool adds_key_gradients;    ///< in scratch memory rather than registers (kNeedsAccumGradK,
                              ///< kNeedsAccumGradV)
  bool splits_keys;           ///< kEnableSplitKeys
  bool computes_delta;        ///< kKernelComputesDelta; if it is false, the caller sums grad * out

  /// Params::workspace_size.
  Bytes workspace(const EfficientShape& shape) const;
};

/// The first kernel of dispatch_cutlassB that takes the head's size and whose shared memory fits
/// the device.
EfficientBackwardKernel efficient_backward_kernel(const DeviceTraits& device, DType dtype,
                                                  const EfficientShape& shape);

/// kNeedsOutputAccumulatorBuffer: the heads are too wide for registers and the output is not
/// float32.
bool efficient_forward_accumulates(DType dtype, const EfficientShape& shape);

}  // namespace memtape::ghost
