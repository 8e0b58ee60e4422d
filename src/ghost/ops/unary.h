// SPDX-License-Identifier: Apache-2.0
// Functions of one tensor through which, but for abs and flip, no gradient flows in the programs
// that are modelled. Each gives one new tensor like its operand (aten/src/ATen/native/UnaryOps.cpp). The
// other functions that have gradients are in pointwise.h.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

Tensor abs(const In& self);
Tensor sign(const In& self);
Tensor sgn(const In& self);
Tensor floor(const In& self);
Tensor ceil(const In& self);
Tensor round(const In& self);
Tensor cos(const In& self);
Tensor sin(const In& self);
Tensor nan_to_num(const In& self);
/// self.flip(d)
Tensor flip(const In& self, int d);
/// Computes a lazy conjugate, before an op that cannot read one.
Tensor resolve_conj(const In& self);

// The second operand is a number: self // number, self % number, and self << number for integers.
Tensor floor_divide(const In& self, double number);
Tensor remainder(const In& self, double number);
Tensor lshift(const In& self, double number);

}  // namespace memtape::ghost
