// SPDX-License-Identifier: Apache-2.0
// Dropout in training. The fused kernel makes its mask of bytes first and then the output; autograd
// keeps the mask (aten/src/ATen/native/Dropout.cpp, cuda/Dropout.cu).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// torch.nn.functional.dropout(x, p, training=self.training). It returns the tensor itself if p is
/// 0 or the model is in eval().
Tensor dropout(const In& x, double p);

}  // namespace memtape::ghost
