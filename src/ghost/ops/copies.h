// SPDX-License-Identifier: Apache-2.0
// Ops that copy: clone, contiguous, reshape where a view is not possible, and changes of dtype.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// A copy of `tensor` with the strides of `like`, which has the same sizes.
Tensor copy_as(const Tensor& tensor, const Tensor& like);

/// A packed copy, whatever the layout of `self` is.
Tensor clone_contiguous(const In& self);

/// self.repeat(times, 1) of a matrix: all rows follow each other `times` times.
Tensor repeat_rows(const In& self, std::int64_t times);

/// torch.repeat_interleave by a number: it repeats each element `times` times along `d`
/// (aten/src/ATen/native/Repeat.cpp).
Tensor repeat_interleave(const Tensor& self, std::int64_t times, int d);

}  // namespace memtape::ghost
