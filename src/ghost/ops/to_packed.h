// SPDX-License-Identifier: Apache-2.0
// Tensor.to(dtype, memory_format=torch.contiguous_format).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// A packed copy in another dtype. If the dtype is the same, it is the tensor itself (to_will_alias
/// of aten/src/ATen/native/TensorConversions.cpp).
Tensor to_packed(const In& self, DType dtype);

}  // namespace memtape::ghost
