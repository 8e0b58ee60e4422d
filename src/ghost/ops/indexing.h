// SPDX-License-Identifier: Apache-2.0
// Indexing with tensors: rows picked by index, elements gathered, and what their gradients are put
// back with (aten/src/ATen/native/cuda/Indexing.cu, ScatterGatherKernel.cu).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// self[indices] with int64 indices: picks along the first dimension.
Tensor index(const In& self, const In& indices);

/// self.index_select(0, rows).
Tensor index_select(const In& self, const In& rows);

/// torch.take_along_dim(self, rows, dim=1), whose rows broadcast over the other dimensions: the
/// indices, broadcast and with negative ones wrapped, and the result. Without gradients.
Tensor take_along_rows(const In& self, const In& rows);

/// self[rows, columns] with as many int64 indices into each of the first two dimensions.
Tensor index_pairs(const In& self, const Tensor& rows, const Tensor& columns);

/// self.index_add_(0, indices, source).
void index_add_(const Tensor& self, const Tensor& indices, const In& source);

/// torch.nn.functional.one_hot(indices, classes): int64, a dimension more.
Tensor one_hot(const Tensor& indices, std::int64_t classes);

/// self[:, indices] of a matrix, without gradients.
Tensor index_columns(const In& self, const In& indices);

/// x[..., [i], ...] with the list at dimension `d`: one place, picked by a tensor made of the list.
Tensor index_one(const In& self, int d);

/// self.gather(-1, indices): as many elements of each row as `indices` has.
Tensor gather(const In& self, const In& indices);

/// self.scatter_(-1, indices, source), where `self` wants no gradient.
void scatter_(Tensor& self, const In& indices, const In& source);

/// self.scatter(-1, indices, source): a copy of a `self` that wants no gradient.
Tensor scatter(const In& self, const In& indices, const In& source);

/// self.scatter_add_(0, indices, source), where `self` wants no gradient.
void scatter_add_(Tensor& self, const In& indices, const In& source);

/// self.index_copy_(-1, indices, source) into a `self` that wants no gradient: `self`, with the
/// history of what was put there.
Tensor index_copy_last(const Tensor& self, const Tensor& indices, const In& source);

/// self.scatter(-1, indices, number): a copy in which those elements are the number.
Tensor scatter_number(const In& self, const In& indices);

/// The places of the `count` elements that are not zero, [count, dim] with the places of each
/// dimension side by side (nonzero_cuda_out_impl of Nonzero.cu).
Tensor nonzero(const Tensor& mask, std::int64_t count);

/// self[mask] where `count` elements of the bool mask over its first dimensions are true.
Tensor index_by_mask(const In& self, const Tensor& mask, std::int64_t count);

/// self.masked_select(mask) of as many dimensions, where `count` elements of the bool mask are
/// true.
Tensor masked_select(const In& self, const In& mask, std::int64_t count);

/// self.masked_scatter(mask, source) of a `self` that wants no gradient, with the mask's sizes.
Tensor masked_scatter(const In& self, const Tensor& mask, const Tensor& source);

}  // namespace memtape::ghost
