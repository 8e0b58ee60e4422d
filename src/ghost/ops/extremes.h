// SPDX-License-Identifier: Apache-2.0
// The smaller or the larger one of each pair of elements. Autograd keeps both operands
// (tools/autograd/derivatives.yaml).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// The result has the sizes of `self`; `other` either has the same sizes or is a single number.
Tensor minimum(const In& self, const In& other);
Tensor maximum(const In& self, const In& other);

}  // namespace memtape::ghost
