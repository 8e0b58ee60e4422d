// SPDX-License-Identifier: Apache-2.0
// Indexing with tensors: it picks rows by index or gathers elements. Its backward puts gradients
// back in their places (aten/src/ATen/native/cuda/Indexing.cu, ScatterGatherKernel.cu).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// self[indices] with int64 indices, which pick along the first dimension.
Tensor index(const In& self, const In& indices);

/// self.index_select(0, rows).
Tensor index_select(const In& self, const In& rows);

/// torch.take_along_dim(self, rows, dim=1), whose rows are broadcast over the other dimensions. It
/// makes the broadcast indices, the same with negative ones wrapped around, and the result. No
/// gradients flow through it.
Tensor take_along_rows(const In& self, const In& rows);

/// self[rows, columns] with equally many int64 indices into each of the first two dimensions.
Tensor index_pairs(const In& self, const Tensor& rows, const Tensor& columns);

/// self.index_add_(0, indices, source).
void index_add_(const Tensor& self, const Tensor& indices, const In& source);

/// torch.nn.functional.one_hot(indices, classes), which gives int64 with one more dimension.
Tensor one_hot(const Tensor& indices, std::int64_t classes);

/// self[:, indices] of a matrix, without gradients.
Tensor index_columns(const In& self, const In& indices);

/// x[..., [i], ...] with the list at dimension `d`: torch makes a tensor of the list, which picks
/// one place.
Tensor index_one(const In& self, int d);

/// self.gather(-1, indices): it picks as many elements of each row as `indices` has.
Tensor gather(const In& self, const In& indices);

/// self.scatter_(-1, indices, source), where `self` requires no gradient.
void scatter_(Tensor& self, const In& indices, const In& source);

/// self.scatter(-1, indices, source): it copies `self`, which requires no gradient.
Tensor scatter(const In& self, const In& indices, const In& source);

/// self.scatter_add_(0, indices, source), where `self` requires no gradient.
void scatter_add_(Tensor& self, const In& indices, const In& source);

/// self.index_copy_(-1, indices, source), where `self` requires no gradient. It returns `self` with
/// the history of what was put there.
Tensor index_copy_last(const Tensor& self, const Tensor& indices, const In& source);

/// self.scatter(-1, indices, number): a copy in which those elements have the value `number`.
Tensor scatter_number(const In& self, const In& indices);

/// The places of the `count` elements that are not zero, as [count, dim]. The places along each
/// dimension lie side by side in memory (nonzero_cuda_out_impl of Nonzero.cu).
Tensor nonzero(const Tensor& mask, std::int64_t count);

/// self[mask], where the bool mask covers the first dimensions and `count` of its elements are
/// true.
Tensor index_by_mask(const In& self, const Tensor& mask, std::int64_t count);

/// self.masked_select(mask), where the bool mask has as many dimensions as `self` and `count` of
/// its elements are true.
Tensor masked_select(const In& self, const In& mask, std::int64_t count);

/// self.masked_scatter(mask, source), where `self` requires no gradient and has the mask's sizes.
Tensor masked_scatter(const In& self, const Tensor& mask, const Tensor& source);

}  // namespace memtape::ghost
