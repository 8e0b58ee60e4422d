// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/sum_of_bools.h"

#include "ghost/autograd/node.h"

namespace memtape::ghost {

Tensor sum_of_bools(const Tensor& operand) {
  const Op op("sum", {});
  Tensor sum = empty({}, DType::int64);
  const Tensor as_int64 = operand.to(DType::int64);
  return sum;
}

}  // namespace memtape::ghost
