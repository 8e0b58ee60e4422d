// SPDX-License-Identifier: Apache-2.0
// Rows in the order of their experts, with those of every expert padded to a multiple of
// TOKEN_GROUP_ALIGN_SIZE_M (models/moe/utils.py, models/moe/kernels.py), which torch._grouped_mm
// needs. The sizes are those of the worst case, so that no count of tokens must be known.
#pragma once

#include <cstdint>

#include "ghost/tensor.h"

namespace memtape::torchtitan {

/// The members are in reverse order: C++ frees the last one first, and Python frees its locals in
/// their order.
struct Permuted {
  ghost::Dims input_sizes;  ///< of the rows, with one row of zeros at their end
  ghost::Tensor indices, counts, x;
};

/// _permute of `x` for `experts` experts. `ranks` ranks have sent rows to each of them.
Permuted permute(const ghost::Tensor& x, const ghost::Tensor& num_tokens_per_expert,
                 std::int64_t ranks, std::int64_t experts);

/// _unpermute
ghost::Tensor unpermute(const ghost::Tensor& out, const Permuted& permuted);

}  // namespace memtape::torchtitan
