// SPDX-License-Identifier: Apache-2.0
// Shards: how many rows each of N holders has of a dimension that is divided as torch.chunk divides
// it: into pieces of ceil(rows / N), of which the last ones are shorter or empty. FSDP2's
// per-parameter shards and DTensor's Shard placements are such pieces.
//
// Invariant: the pieces of all holders sum to `rows`.
#pragma once

#include <algorithm>
#include <cstdint>

namespace memtape {

/// The rows of the longest piece, to which the others are padded for communication.
constexpr std::int64_t padded_shard(std::int64_t rows, std::int64_t holders) {
  return (rows + holders - 1) / holders;
}

/// The rows of the piece that `holder` has; holders are counted from 0.
constexpr std::int64_t shard(std::int64_t rows, std::int64_t holders, std::int64_t holder) {
  const std::int64_t piece = padded_shard(rows, holders);
  return std::clamp<std::int64_t>(rows - holder * piece, 0, piece);
}

}  // namespace memtape
