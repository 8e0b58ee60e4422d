// SPDX-License-Identifier: Apache-2.0
// dropout in training: the fused kernel makes its mask of bytes, then the output, and keeps the
// mask (aten/src/ATen/native/Dropout.cpp, cuda/Dropout.cu).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// torch.nn.functional.dropout(x, p, training=self.training); the tensor itself when p is
/// 0 or the model is in eval().
Tensor dropout(const In& x, double p);

}  // namespace memtape::ghost
