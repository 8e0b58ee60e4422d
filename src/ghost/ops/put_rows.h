// SPDX-License-Identifier: Apache-2.0
// Ops that put rows where indices say, or add them to the rows there
// (aten/src/ATen/native/cuda/Indexing.cu, ScatterGatherKernel.cu).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// self[indices, :] = source, where `self` requires no gradient.
void put_rows_(const Tensor& self, const Tensor& indices, const In& source);

/// self.scatter_add(0, indices, source): it copies `self` and adds the elements of `source` to
/// those of the copy.
Tensor scatter_add(const In& self, const Tensor& indices, const In& source);

}  // namespace memtape::ghost
