// SPDX-License-Identifier: Apache-2.0
// Convolutions that cuDNN computes, with kernels of any size (aten/src/ATen/native/Convolution.cpp,
// cudnn/ConvShared.cpp). The operands are packed, and only the results are allocated here. cuDNN
// itself chooses the workspace that it takes meanwhile; predict/bounds says how large it can be.
#pragma once

#include <cstdint>

#include "ghost/tensor.h"

namespace memtape::ghost {

/// torch.nn.functional.conv1d or conv2d of `input` [B, C, sizes...] and `weight` [out, C,
/// kernel...]. Stride and padding are the same in all dimensions; `bias` may be undefined.
Tensor cudnn_convolution(const In& input, const Tensor& weight, const Tensor& bias,
                         std::int64_t stride, std::int64_t padding);

}  // namespace memtape::ghost
