// SPDX-License-Identifier: Apache-2.0
#include "framework/fsdp2/copy_tables.h"

#include <algorithm>
#include <cmath>

#include "ghost/autograd/node.h"
#include "ghost/session.h"

namespace memtape::fsdp2 {
namespace {

using ghost::Tensor;

constexpr std::int64_t kBlockThreads = 128, kBytesPerThread = 16;
constexpr Bytes kTile = kBlockThreads * kBytesPerThread;

std::int64_t blocks_of(std::span<const Bytes> pieces, Bytes bytes_per_block) {
  std::int64_t blocks = 0;
  for (const Bytes piece : pieces) blocks += (piece + bytes_per_block - 1) / bytes_per_block;
  return blocks;
}

Tensor packed(std::int64_t numbers) { return ghost::empty({numbers}, DType::int64); }

}  // namespace

/// Threads do more when there are more blocks than the device takes twice over; what they do more
/// is spread over shards and rounds.
Tensor split_copy_table(std::span<const Bytes> pieces, std::int64_t shards) {
  const ghost::Op op("split_with_sizes_copy", {});
  const ghost::DeviceTraits& device = ghost::session().device;
  const std::int64_t most = 2 * (device.sm_count * device.max_threads_per_sm() / kBlockThreads);
  const std::int64_t factor = (blocks_of(pieces, kTile) * shards + most - 1) / most;
  const auto spread = static_cast<std::int64_t>(std::ceil(std::sqrt(factor)));
  const std::int64_t shards_per_block = std::min(spread, shards);
  const std::int64_t rounds = (factor + shards_per_block - 1) / shards_per_block;
  const auto count = static_cast<std::int64_t>(pieces.size());
  return packed(3 * count + blocks_of(pieces, kTile * rounds) + count + 1);
}

Tensor chunk_cat_table(std::span<const Bytes> pieces) {
  const ghost::Op op("_chunk_cat", {});
  const auto count = static_cast<std::int64_t>(pieces.size());
  return packed(4 * count + 2 * (count + 1) + blocks_of(pieces, kTile));
}

}  // namespace memtape::fsdp2
