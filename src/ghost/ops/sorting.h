// SPDX-License-Identifier: Apache-2.0
// Sorting: sort of one row, and topk, with the scratch memory of their kernels
// (aten/src/ATen/native/cuda/Sort.cu, TensorTopK.cu).
#pragma once

#include <cstdint>
#include <utility>

#include "ghost/tensor.h"

namespace memtape::ghost {

/// The values, and their indices as int64.
using ValuesAndIndices = std::pair<Tensor, Tensor>;

/// torch.sort along the last dimension of a packed tensor whose elements have 4 or 8 bytes, without
/// gradients.
ValuesAndIndices sort(const In& self);

/// torch.topk along the last dimension.
ValuesAndIndices topk(const In& self, std::int64_t k);

/// torch.topk along the first dimension of a packed matrix, without gradients.
ValuesAndIndices topk_of_columns(const Tensor& self, std::int64_t k);

/// self.max(dim=-1, keepdim=True). max(dim=-1)[1].unsqueeze(-1) takes the same memory.
ValuesAndIndices max_along_last(const In& self);

}  // namespace memtape::ghost
