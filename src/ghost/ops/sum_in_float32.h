// SPDX-License-Identifier: Apache-2.0
// self.sum(-1, keepdim=True, dtype=torch.float32). The kernel reads 16 bits and writes 32 without a
// copy (ReduceOps.cpp, make_reduction). Backward casts the gradient back at the operand's full
// size.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

Tensor sum_in_float32(const In& self);

}  // namespace memtape::ghost
