// SPDX-License-Identifier: Apache-2.0
// Functions of one tensor that no gradient goes through in the programs that are modelled: each
// gives one new tensor like its operand (aten/src/ATen/native/UnaryOps.cpp). Those that autograd
// goes through are in pointwise.h.
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
/// A lazy conjugate made real, before an op that does not know of it.
Tensor resolve_conj(const In& self);

// With a number: self // number, self % number and self << number of integers.
Tensor floor_divide(const In& self, double number);
Tensor remainder(const In& self, double number);
Tensor lshift(const In& self, double number);

}  // namespace memtape::ghost
