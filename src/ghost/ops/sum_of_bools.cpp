// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/sum_of_bools.h"

#include "ghost/autograd/node.h"

namespace memtape::ghost {
namespace {

Tensor summed(const Tensor& operand, const Dims& sizes) {
  const Op op("sum", {});
  Tensor sum = empty(sizes, DType::int64);
  const Tensor as_int64 = operand.to(DType::int64);
  return sum;
}

}  // namespace

Tensor sum_of_bools(const Tensor& operand) { return summed(operand, {}); }

Tensor sum_of_bools(const Tensor& operand, int d) {
  Dims sizes;
  const int summed_dim = d < 0 ? d + operand.dim() : d;
  for (int i = 0; i < operand.dim(); ++i)
    if (i != summed_dim) sizes.push_back(operand.size(i));
  return summed(operand, sizes);
}

}  // namespace memtape::ghost
