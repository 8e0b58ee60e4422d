// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/creation.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/iterator.h"

namespace memtape::ghost {

Tensor zeros(const Dims& sizes, DType dtype, Category category) {
  Op op("zeros", {});
  return empty(sizes, dtype, category);
}

Tensor full(const Dims& sizes, DType dtype, Category category) {
  Op op("full", {});
  return empty(sizes, dtype, category);
}

Tensor ones(const Dims& sizes, DType dtype, Category category) {
  Op op("ones", {});
  return empty(sizes, dtype, category);
}

Tensor arange(std::int64_t count, DType dtype) {
  Op op("arange", {});
  return empty({count}, dtype);
}

Tensor empty_like(const Tensor& tensor, DType dtype, Category category) {
  const Dims& sizes = tensor.sizes();
  if (is_non_overlapping_and_dense(sizes, tensor.strides()))
    return empty_strided(sizes, tensor.strides(), dtype, category);
  const Tensor* operand = &tensor;
  return empty_strided(sizes, output_strides({&operand, 1}, sizes), dtype, category);
}

Tensor zeros_like(const Tensor& tensor, Category category) {
  Op op("zeros_like", {});
  return empty_like(tensor, tensor.dtype(), category);
}

Tensor ones_like(const Tensor& tensor) {
  Op op("ones_like", {});
  return empty_like(tensor, tensor.dtype());
}

Tensor full_like(const Tensor& tensor, double) {
  Op op("full_like", {});
  return empty_like(tensor, tensor.dtype());
}

}  // namespace memtape::ghost
