// SPDX-License-Identifier: Apache-2.0
// The largest tensors at a moment of the tape. Tensors of repeated layers are folded into one row
// (report/fold.h).
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "outcome/prediction.h"

namespace memtape::report {

/// As `count`, this asks for a row for every tensor, so that the rows add up to what is allocated.
inline constexpr std::size_t kEveryTensor = std::numeric_limits<std::size_t>::max();

/// At most `count` rows, sorted by their bytes in the allocator with the largest first. Equal rows
/// are in order of allocation.
std::vector<LargestTensor> largest_tensors(const Tape& tape, const BlockSizes& sizes,
                                           std::span<const BlockId> blocks, std::size_t count);

}  // namespace memtape::report
