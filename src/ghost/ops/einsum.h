// SPDX-License-Identifier: Apache-2.0
// torch.einsum of two tensors, as a product of matrices in a batch
// (aten/src/ATen/native/Linear.cpp, einsum and sumproduct_pair).
#pragma once

#include <string_view>

#include "ghost/tensor.h"

namespace memtape::ghost {

/// "bik,bkj->bij": labels of letters, each once in an operand.
Tensor einsum(std::string_view equation, const Tensor& left, const Tensor& right);

}  // namespace memtape::ghost
