// SPDX-License-Identifier: Apache-2.0
// sum() of bools in torch: the result first, then the operand as int64.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

Tensor sum_of_bools(const Tensor& operand);
/// Along one dimension.
Tensor sum_of_bools(const Tensor& operand, int d);

}  // namespace memtape::ghost
