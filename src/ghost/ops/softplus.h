// SPDX-License-Identifier: Apache-2.0
// softplus: log(1 + exp(x)) as one kernel. Autograd keeps its input, and autocast runs it in
// float32.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

Tensor softplus(const In& self);

}  // namespace memtape::ghost
