// SPDX-License-Identifier: Apache-2.0
// Convolutions with kernels of one element, which cuDNN computes (aten/src/ATen/native/
// Convolution.cpp, cudnn/ConvShared.cpp): channels last where the input lies so, results alone. The
// workspace cuDNN takes for a moment is its own choice and not modelled.
#pragma once

#include <cstdint>

#include "ghost/tensor.h"

namespace memtape::ghost {

/// torch.nn.functional.conv1d(input, weight, groups=groups) of `input` [B, C, T] and `weight`
/// [out, C / groups, 1] without bias: [B, out, T].
Tensor pointwise_conv1d(const In& input, const In& weight, std::int64_t groups);

}  // namespace memtape::ghost
