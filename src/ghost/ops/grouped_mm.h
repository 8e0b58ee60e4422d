// SPDX-License-Identifier: Apache-2.0
// grouped_mm: one product for each group of rows, as torch.nn.functional.grouped_mm
// (aten/src/ATen/native/cuda/GroupedBlas.cpp, GroupMM.cu). No size depends on how the rows are
// spread over the groups: neither the fused kernel nor the loop over groups takes memory for it.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// The rows of `self` [S, K], in groups that end at `offsets` [G], times `mat2` [G, K, N]. Or [M,
/// S] times [S, N] with the groups along S, which gives [G, M, N].
Tensor grouped_mm(const In& self, const In& mat2, const Tensor& offsets);

/// torch.histc of `ids` with `groups` bins: how many ids each group has.
Tensor count_ids(const Tensor& ids, std::int64_t groups);
/// torch.cumsum(counts, dim=0, dtype=torch.int32): where each group ends.
Tensor ends_of_groups(const Tensor& counts);

/// The counts and the ends together.
struct Groups {
  Tensor counts, offsets;
};
Groups count_groups(const Tensor& sorted_ids, std::int64_t groups);

}  // namespace memtape::ghost
