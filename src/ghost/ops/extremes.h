// SPDX-License-Identifier: Apache-2.0
// The smaller or the larger of each pair of elements; autograd keeps both operands
// (tools/autograd/derivatives.yaml).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// The result has the sizes of `self`: `other` has them, too, or is a single number.
Tensor minimum(const In& self, const In& other);
Tensor maximum(const In& self, const In& other);

}  // namespace memtape::ghost
