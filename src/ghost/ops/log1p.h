// SPDX-License-Identifier: Apache-2.0
// log1p: log(1 + x), of which autograd keeps the operand (tools/autograd/derivatives.yaml).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

Tensor log1p(const In& self);

}  // namespace memtape::ghost
