// SPDX-License-Identifier: Apache-2.0
// Normalisations that are one op: layer_norm and rms_norm over the last dimension
// (aten/src/ATen/native/cuda/layer_norm_kernel.cu, native/layer_norm.cpp).
//
// Both keep the input, the weight and the float32 statistics of each row. Their backward makes the
// gradients of the parameters in one kernel or, if there are very many short rows, as partial sums
// that are then reduced.
#pragma once

#include <cstdint>

#include "ghost/tensor.h"

namespace memtape::ghost {

/// torch.nn.functional.layer_norm over the last dimension; `weight` and `bias` may be undefined.
/// Autocast runs it in float32.
Tensor layer_norm(const In& input, const Tensor& weight, const Tensor& bias);

/// torch.nn.functional.rms_norm over the last dimension; `weight` may be undefined. If the weight's
/// dtype differs from the input's, the op is a chain of simple ops.
Tensor rms_norm(const In& input, const Tensor& weight);

}  // namespace memtape::ghost
