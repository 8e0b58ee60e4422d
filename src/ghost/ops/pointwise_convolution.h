// SPDX-License-Identifier: Apache-2.0
// Convolutions with kernels of one element, which cuDNN computes
// (aten/src/ATen/native/Convolution.cpp, cudnn/ConvShared.cpp). The result has its channels last if
// the input has. Only results are allocated here: cuDNN itself chooses the workspace that it takes
// for a moment, and it is not modelled.
#pragma once

#include <cstdint>

#include "ghost/tensor.h"

namespace memtape::ghost {

/// torch.nn.functional.conv1d(input, weight, groups=groups) of `input` [B, C, T] and `weight`
/// [out, C / groups, 1] without bias: [B, out, T].
Tensor pointwise_conv1d(const In& input, const In& weight, std::int64_t groups);

}  // namespace memtape::ghost
