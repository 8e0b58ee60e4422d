// SPDX-License-Identifier: Apache-2.0
// grouped_mm: one product per group of rows, as torch.nn.functional.grouped_mm
// (aten/src/ATen/native/cuda/GroupedBlas.cpp, GroupMM.cu). How the rows are spread over the groups
// decides no size: neither the fused kernel nor the loop over groups takes memory that depends on
// it.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// Rows of `self` [S, K], in groups that end at `offsets` [G], times `mat2` [G, K, N]; also [M, S]
/// times [S, N] with the groups along S, which gives [G, M, N].
Tensor grouped_mm(const In& self, const In& mat2, const Tensor& offsets);

/// torch.histc of `ids` over `groups` bins: how many there are of each.
Tensor count_ids(const Tensor& ids, std::int64_t groups);
/// torch.cumsum(counts, dim=0, dtype=torch.int32): where each group ends.
Tensor ends_of_groups(const Tensor& counts);

/// Both.
struct Groups {
  Tensor counts, offsets;
};
Groups count_groups(const Tensor& sorted_ids, std::int64_t groups);

}  // namespace memtape::ghost
