// SPDX-License-Identifier: Apache-2.0
// expm1: exp(x) - 1. Autograd keeps its result (tools/autograd/derivatives.yaml).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

Tensor expm1(const In& self);

}  // namespace memtape::ghost
