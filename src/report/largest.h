// SPDX-License-Identifier: Apache-2.0
// The largest tensors at a moment of the tape, layers that repeat folded into one row
// (report/fold.h).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "report/prediction.h"

namespace memtape::report {

/// Rows by bytes in the allocator, largest first, ties in order of allocation; at most `count`
/// rows.
std::vector<LargestTensor> largest_tensors(const Tape& tape, const BlockSizes& sizes,
                                           std::span<const BlockId> blocks, std::size_t count);

}  // namespace memtape::report
