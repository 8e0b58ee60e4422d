// SPDX-License-Identifier: Apache-2.0
// Embedding: indices pick rows of a table. Backward makes the table's dense gradient, with the
// scratch memory that aten/src/ATen/native/cuda/Embedding.cu takes to sort the indices.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

Tensor embedding(const Tensor& weight, const In& indices);

/// The same where `shard` holds only this GPU's part of a table with `rows` rows. DTensor masks the
/// indices of rows that other GPUs hold (_MaskPartial._mask_tensor). The gradient is that of the
/// whole table.
Tensor embedding_of_shard(const Tensor& shard, const Tensor& indices, std::int64_t rows);

}  // namespace memtape::ghost
