// SPDX-License-Identifier: Apache-2.0
// Convolutions that cuDNN computes, with kernels of any size (aten/src/ATen/native/Convolution.cpp,
// cudnn/ConvShared.cpp): packed operands, results alone. The workspace cuDNN takes meanwhile is its
// own choice; predict/bounds says how far it may reach.
#pragma once

#include <cstdint>

#include "ghost/tensor.h"

namespace memtape::ghost {

/// torch.nn.functional.conv1d or conv2d of `input` [B, C, sizes...] and `weight` [out, C,
/// kernel...], alike in all dimensions; `bias` may be undefined.
Tensor cudnn_convolution(const In& input, const Tensor& weight, const Tensor& bias,
                         std::int64_t stride, std::int64_t padding);

}  // namespace memtape::ghost
