// SPDX-License-Identifier: Apache-2.0
// New tensors that come from nothing: zeros, ones, full, arange. Each is one block of its own size.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

Tensor zeros(const Dims& sizes, DType dtype, Category category = Category::unknown);
Tensor full(const Dims& sizes, DType dtype, Category category = Category::unknown);
Tensor ones(const Dims& sizes, DType dtype, Category category = Category::unknown);
/// torch.arange over `count` values: the output starts empty and is resized, one block.
Tensor arange(std::int64_t count, DType dtype);
/// Same sizes; strides of `tensor` where it is dense (memory_format=preserve).
Tensor empty_like(const Tensor& tensor, DType dtype, Category category = Category::unknown);
Tensor zeros_like(const Tensor& tensor, Category category = Category::unknown);
Tensor ones_like(const Tensor& tensor);
Tensor full_like(const Tensor& tensor, double number);

}  // namespace memtape::ghost
