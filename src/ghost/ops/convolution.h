// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions, which have one filter per channel: torch computes them with kernels of
// its own (aten/src/ATen/native/Convolution.cpp, cuda/DepthwiseConv2d.cu). All other convolutions
// are cuDNN's, which chooses its algorithm and its workspace by what it finds fast on the device.
#pragma once

#include <cstdint>

#include "ghost/tensor.h"

namespace memtape::ghost {

/// torch.nn.functional.conv1d of `input` [B, C, S] and `weight` [C, 1, K] with groups=C; `bias` may
/// be undefined.
Tensor depthwise_conv1d(const In& input, const Tensor& weight, const Tensor& bias,
                        std::int64_t padding);

}  // namespace memtape::ghost
