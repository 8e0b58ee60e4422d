// SPDX-License-Identifier: Apache-2.0
// The scratch of a reduction kernel: gpu_reduce_kernel and ReduceConfig (aten/src/ATen/native/cuda/Reduce.cuh).
//
// A reduction whose outputs are too few to fill the device is split over several blocks per output. They meet in global
// memory: a buffer of partial results and one semaphore per column of blocks, both from the caching allocator and gone once
// the kernel is launched. Tensors past 2^31 bytes are reduced piece by piece, with sums kept in a buffer of their own where
// the output's type is too narrow for them.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "ghost/tensor.h"

namespace memtape::ghost {

/// The types a reduction kernel is instantiated with.
struct ReduceKernel {
  Bytes input_size = 4;        ///< scalar_t
  Bytes output_size = 4;       ///< out_scalar_t
  Bytes accumulator_size = 4;  ///< arg_t of the op
  int input_vector = 4;        ///< input_vec_size: elements one thread loads at once along the reduced dimension
  bool accumulates_in_output = true;

  /// sum and mean of a floating or integral type: half types add up in float32.
  static ReduceKernel sum_like(DType input, DType output);
  /// linalg_vector_norm.
  static ReduceKernel norm(DType input, DType output);
  /// all, any, min, max: the input's own type.
  static ReduceKernel plain(DType input, DType output);
};

/// Which dimensions are reduced: bit d for dimension d.
using DimMask = std::uint32_t;

/// Allocates and frees the scratch of reducing `input` over `reduced` into a packed output.
void take_reduce_scratch(const ReduceKernel& kernel, const Tensor& input, DimMask reduced);

}  // namespace memtape::ghost
