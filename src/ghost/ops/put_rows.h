// SPDX-License-Identifier: Apache-2.0
// Rows put where indices say, or added to what is there (aten/src/ATen/native/cuda/Indexing.cu,
// ScatterGatherKernel.cu).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// self[indices, :] = source, into a `self` that wants no gradient.
void put_rows_(const Tensor& self, const Tensor& indices, const In& source);

/// self.scatter_add(0, indices, source): a copy of `self`, to whose elements those of `source` are
/// added.
Tensor scatter_add(const In& self, const Tensor& indices, const In& source);

}  // namespace memtape::ghost
