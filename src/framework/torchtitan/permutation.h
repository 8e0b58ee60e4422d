// SPDX-License-Identifier: Apache-2.0
// Rows in the order of their experts, every expert's padded to a multiple of
// TOKEN_GROUP_ALIGN_SIZE_M (models/moe/utils.py, models/moe/kernels.py): what torch._grouped_mm
// wants. Sizes are those of the worst case, so that no count of tokens has to be known.
#pragma once

#include <cstdint>

#include "ghost/tensor.h"

namespace memtape::torchtitan {

/// The last goes first, as Python lets go of locals in their order.
struct Permuted {
  ghost::Dims input_sizes;  ///< of the rows with one of zeros at their end
  ghost::Tensor indices, counts, x;
};

/// _permute of `x` for `experts` experts, to each of which `ranks` ranks sent rows.
Permuted permute(const ghost::Tensor& x, const ghost::Tensor& num_tokens_per_expert,
                 std::int64_t ranks, std::int64_t experts);

/// _unpermute
ghost::Tensor unpermute(const ghost::Tensor& out, const Permuted& permuted);

}  // namespace memtape::torchtitan
