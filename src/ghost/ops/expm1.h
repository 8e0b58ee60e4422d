// SPDX-License-Identifier: Apache-2.0
// expm1: exp(x) - 1, of which autograd keeps the result (tools/autograd/derivatives.yaml).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

Tensor expm1(const In& self);

}  // namespace memtape::ghost
