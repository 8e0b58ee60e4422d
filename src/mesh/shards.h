// SPDX-License-Identifier: Apache-2.0
// Shards: how many rows each of N holders has of a dimension that is cut as torch.chunk cuts it:
// pieces of ceil(rows / N), the last ones shorter or empty. FSDP2's per-parameter shards and
// DTensor's Shard placements are cut so.
//
// Invariant: the pieces of all holders sum to `rows`.
#pragma once

#include <algorithm>
#include <cstdint>

namespace memtape {

/// Rows of the longest piece, to which the others are padded where they are communicated.
constexpr std::int64_t padded_shard(std::int64_t rows, std::int64_t holders) {
  return (rows + holders - 1) / holders;
}

/// Rows of the piece of `holder` (0-based).
constexpr std::int64_t shard(std::int64_t rows, std::int64_t holders, std::int64_t holder) {
  const std::int64_t piece = padded_shard(rows, holders);
  return std::clamp<std::int64_t>(rows - holder * piece, 0, piece);
}

}  // namespace memtape
