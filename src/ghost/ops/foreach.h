// SPDX-License-Identifier: Apache-2.0
// Multi-tensor ops (torch._foreach_*): a few kernels handle a list of tensors in chunks of 65,536
// elements (aten/src/ATen/native/cuda/MultiTensorApply.cuh). An op that is not in place makes a new
// tensor for every element of the list. In-place ops and lists of numbers take no memory.
#pragma once

#include <cstddef>
#include <vector>

#include "ghost/tensor_list.h"

namespace memtape::ghost {

/// torch._foreach_norm(tensors, 2): it makes one number for each tensor, and a scratch buffer of
/// partial sums in the kernel's accumulation type.
TensorList foreach_norm(const std::vector<Tensor>& tensors);

/// An op that gives one tensor like each of `tensors`: _foreach_sqrt, _foreach_abs, or _foreach_mul
/// by numbers or by a list of tensors of the same sizes and dtype.
TensorList foreach_like(const char* name, const std::vector<Tensor>& tensors);

/// _group_tensors_by_device_and_dtype: the places in the list of the tensors of each dtype. The
/// groups come out of a hash table that lists the newest entry first, so the dtype that appears
/// last is the first group.
std::vector<std::vector<std::size_t>> grouped_by_dtype(const std::vector<Tensor>& tensors);

/// The tensors at these places.
TensorList at_places(const std::vector<Tensor>& tensors, const std::vector<std::size_t>& places);

}  // namespace memtape::ghost
