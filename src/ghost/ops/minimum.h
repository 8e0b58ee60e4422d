// SPDX-License-Identifier: Apache-2.0
// torch.minimum (aten/src/ATen/native/BinaryOps.cpp; tools/autograd/derivatives.yaml).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// The smaller of each pair, of tensors of the same sizes; autograd keeps both.
Tensor minimum(const In& self, const In& other);

}  // namespace memtape::ghost
