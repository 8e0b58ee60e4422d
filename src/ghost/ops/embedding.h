// SPDX-License-Identifier: Apache-2.0
// embedding: rows of a table picked by indices. Backward makes the table's dense gradient, with the
// scratch that aten/src/ATen/native/cuda/Embedding.cu takes to sort the indices.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

Tensor embedding(const Tensor& weight, const In& indices);

/// The same where `shard` is this GPU's rows of a table of `rows`: DTensor masks the indices of
/// others (_MaskPartial._mask_tensor). The gradient is that of the whole table.
Tensor embedding_of_shard(const Tensor& shard, const Tensor& indices, std::int64_t rows);

}  // namespace memtape::ghost
