// SPDX-License-Identifier: Apache-2.0
// The host code of torch's reduction kernel (aten/src/ATen/native/cuda/Reduce.cuh,
// gpu_reduce_kernel). Where few outputs gather many inputs, an output's input is divided among
// thread blocks, which meet in global memory: a buffer of partial results and one semaphore per
// block of outputs. How it is divided depends on the layout and on the device.
#pragma once

#include <cstdint>
#include <optional>

#include "ghost/tensor.h"

namespace memtape::ghost {

/// A set of dimensions of a tensor.
using DimSet = std::uint32_t;
constexpr DimSet dim_set(int d) { return DimSet{1} << d; }
constexpr DimSet all_dims(int rank) { return (DimSet{1} << rank) - 1; }

/// Takes and returns the scratch for reducing `input` over `reduced` to a packed output of dtype
/// `output`: sum, mean, norms and their like, which accumulate numbers of 16 bits in 32; all and
/// any (`output` is boolean) keep the input's type; others say what a partial result takes.
void reduce_scratch(const Tensor& input, DimSet reduced, DType output,
                    std::optional<Bytes> partial = {});

}  // namespace memtape::ghost
