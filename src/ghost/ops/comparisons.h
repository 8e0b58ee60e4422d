// SPDX-License-Identifier: Apache-2.0
// Comparisons and logic. Each op gives a new tensor without history: a bool tensor, except that the
// bitwise ops keep their operands' dtype (aten/src/ATen/native/BinaryOps.cpp).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

// These are self == number, self != number, self < number, self <= number, self > number and self
// >= number.
Tensor eq(const In& self, double number);
Tensor ne(const In& self, double number);
Tensor lt(const In& self, double number);
Tensor le(const In& self, double number);
Tensor gt(const In& self, double number);
Tensor ge(const In& self, double number);

// The same comparisons with a tensor, which is broadcast.
Tensor eq(const In& self, const In& other);
Tensor ne(const In& self, const In& other);
Tensor lt(const In& self, const In& other);
Tensor le(const In& self, const In& other);
Tensor gt(const In& self, const In& other);
Tensor ge(const In& self, const In& other);

// These are &, |, ^ and, for bool tensors, torch.logical_and and torch.logical_or.
Tensor bitwise_and(const In& self, const In& other);
Tensor bitwise_or(const In& self, const In& other);
Tensor bitwise_xor(const In& self, const In& other);
Tensor logical_and(const In& self, const In& other);
Tensor logical_or(const In& self, const In& other);

/// These are self & flag and self | flag, where `flag` is a Python bool.
Tensor bitwise_and(const In& self, bool flag);
Tensor bitwise_or(const In& self, bool flag);

/// ~self
Tensor bitwise_not(const In& self);
/// torch.logical_not of a bool tensor.
Tensor logical_not(const In& self);

/// self.isnan(), which compares the tensor with itself.
Tensor isnan(const In& self);
/// self.isneginf()
Tensor isneginf(const In& self);
/// self.isinf(), which compares the magnitude with infinity.
Tensor isinf(const In& self);

}  // namespace memtape::ghost
