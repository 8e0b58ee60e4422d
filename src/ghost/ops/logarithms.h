// SPDX-License-Identifier: Apache-2.0
// log(x) and log1p(x). Autograd keeps their input (tools/autograd/derivatives.yaml).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

Tensor log(const In& self);
Tensor log1p(const In& self);

}  // namespace memtape::ghost
