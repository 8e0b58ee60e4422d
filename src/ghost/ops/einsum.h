// SPDX-License-Identifier: Apache-2.0
// torch.einsum of two tensors, computed as a batched product of matrices
// (aten/src/ATen/native/Linear.cpp, einsum and sumproduct_pair).
#pragma once

#include <string_view>

#include "ghost/tensor.h"

namespace memtape::ghost {

/// `equation` is like "bik,bkj->bij": its labels are letters, and each occurs at most once in an
/// operand.
Tensor einsum(std::string_view equation, const Tensor& left, const Tensor& right);

}  // namespace memtape::ghost
