// SPDX-License-Identifier: Apache-2.0
// Convolutions that torch computes with kernels of its own: one filter a channel
// (aten/src/ATen/native/Convolution.cpp, cuda/DepthwiseConv2d.cu). Others are cuDNN's, which
// chooses its algorithm and workspace by what it finds fast on the device.
#pragma once

#include <cstdint>

#include "ghost/tensor.h"

namespace memtape::ghost {

/// torch.nn.functional.conv1d of `input` [B, C, S] and `weight` [C, 1, K] with groups=C; `bias` may
/// be undefined.
Tensor depthwise_conv1d(const In& input, const Tensor& weight, const Tensor& bias,
                        std::int64_t padding);

}  // namespace memtape::ghost
