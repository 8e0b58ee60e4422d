// SPDX-License-Identifier: Apache-2.0
// torch's sum() of bools. It allocates the result first, and then the operand as int64.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

Tensor sum_of_bools(const Tensor& operand);
/// Sums along one dimension.
Tensor sum_of_bools(const Tensor& operand, int d);

}  // namespace memtape::ghost
