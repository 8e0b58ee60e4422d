// SPDX-License-Identifier: Apache-2.0
// Ops that create tensors: zeros, ones, full and arange. Each makes one block of the tensor's size.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

Tensor zeros(const Dims& sizes, DType dtype, Category category = Category::unknown);
Tensor full(const Dims& sizes, DType dtype, Category category = Category::unknown);
Tensor ones(const Dims& sizes, DType dtype, Category category = Category::unknown);
/// torch.arange over `count` values. The output starts empty and is then resized, so it is one
/// block.
Tensor arange(std::int64_t count, DType dtype);
/// The result has the sizes of `tensor` and, if `tensor` is dense, its strides
/// (memory_format=preserve).
Tensor empty_like(const Tensor& tensor, DType dtype, Category category = Category::unknown);
Tensor zeros_like(const Tensor& tensor, Category category = Category::unknown);
Tensor ones_like(const Tensor& tensor);
Tensor full_like(const Tensor& tensor, double number);

}  // namespace memtape::ghost
