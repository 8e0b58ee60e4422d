// SPDX-License-Identifier: Apache-2.0
// The host code of torch's reduction kernel (aten/src/ATen/native/cuda/Reduce.cuh,
// gpu_reduce_kernel). If few outputs gather many inputs, the input of one output is divided among
// thread blocks, which meet in global memory: they take a buffer of partial results, and one
// semaphore for each block of outputs. How the input is divided depends on the layout and on the
// device.
#pragma once

#include <cstdint>
#include <optional>

#include "ghost/tensor.h"

namespace memtape::ghost {

/// A set of a tensor's dimensions, one bit for each.
using DimSet = std::uint32_t;
constexpr DimSet dim_set(int d) { return DimSet{1} << d; }
constexpr DimSet all_dims(int rank) { return (DimSet{1} << rank) - 1; }

/// A partial result of max and argmax along a dimension (ReduceMaxValuesKernel.cu,
/// ReduceArgMaxKernel.cu).
constexpr Bytes kValueAndPlace = 16;

/// Takes and returns the scratch memory for reducing `input` over the dimensions `reduced` to a
/// packed output of dtype `output`. Sum, mean, norms and similar ops accumulate 16-bit numbers in
/// 32 bits. For all and any, `output` is boolean, and partial results have the input's type. Other
/// ops say how large a partial result is.
void reduce_scratch(const Tensor& input, DimSet reduced, DType output,
                    std::optional<Bytes> partial = {});

}  // namespace memtape::ghost
