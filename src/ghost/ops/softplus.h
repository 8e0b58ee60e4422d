// SPDX-License-Identifier: Apache-2.0
// softplus: log(1 + exp(x)) as one kernel, which keeps its input. Autocast runs it in float32.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

Tensor softplus(const In& self);

}  // namespace memtape::ghost
