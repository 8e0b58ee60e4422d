// SPDX-License-Identifier: Apache-2.0
// Multi-tensor ops (torch._foreach_*): lists of tensors handled by a few kernels in chunks of 65,536 elements
// (aten/src/ATen/native/cuda/MultiTensorApply.cuh).
#pragma once

#include <vector>

#include "ghost/tensor.h"

namespace memtape::ghost {

/// torch._foreach_norm(tensors, 2): one number each, and a scratch of partial sums in the kernel's accumulation type.
std::vector<Tensor> foreach_norm(const std::vector<Tensor>& tensors);

}  // namespace memtape::ghost
