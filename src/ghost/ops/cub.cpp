// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/cub.h"

#include <algorithm>

namespace memtape::ghost::cub {
namespace {

constexpr Bytes kAlignment = 256;

constexpr Bytes aligned(Bytes bytes) { return ceil_div(bytes, kAlignment) * kAlignment; }

/// AliasTemporaries: parts, each aligned, in one buffer that may itself start anywhere.
constexpr Bytes blob(Bytes aligned_parts) { return aligned_parts + kAlignment - 1; }

/// What a ScanTileState keeps per tile: a status word, with the value in it for the types of C++; else two values beside it.
struct TileState {
  Bytes word, value = 0;
};

/// tile_state_allocation_size: states of all tiles and 32 of padding, aliased once there and once by the algorithm.
Bytes tile_states_bytes(std::int64_t items, std::int64_t tile, const TileState& state) {
  constexpr std::int64_t kPadding = 32;
  const std::int64_t states = ceil_div(items, tile) + kPadding;
  return blob(aligned(blob(aligned(states * state.word) + 2 * aligned(states * state.value))));
}

/// OnesweepPolicy of tuning_radix_sort.cuh: threads times items, the items scaled from 4 bytes to the 8 of a key.
std::int64_t onesweep_tile(const DeviceTraits& device) {
  if (device.at_least(9)) return 384 * (24 * 4 / 8);
  if (device.at_least(8)) return 384 * (21 * 4 / 8);
  return 256 * (23 * 4 / 8);
}

/// UniqueByKeyPolicyT of tuning_unique_by_key.cuh for 8-byte keys and 4-byte values.
std::int64_t unique_by_key_tile(const DeviceTraits& device) {
  if (device.at_least(10)) return 384 * 10;
  if (device.at_least(9)) return 640 * 7;
  const bool tuned = device.at_least(8) && !device.at_least(8, 6);
  return tuned ? 256 * 7 : 64 * (11 * 4 / 8);
}

}  // namespace

Bytes radix_sort_pairs_bytes(const DeviceTraits& device, std::int64_t items) {
  constexpr std::int64_t kSingleTile = 256 * (19 * 4 / 8), kDigits = 256, kPasses = 8, kItem = 8, kCounter = 4;
  if (items <= kSingleTile) return 1;
  const Bytes bins = kPasses * kDigits * kItem;
  const Bytes lookback = ceil_div(items, onesweep_tile(device)) * kDigits * kCounter;
  const Bytes other_keys = items * kItem, other_values = items * kItem;
  return blob(aligned(bins) + aligned(lookback) + aligned(other_keys) + aligned(other_values) + aligned(kPasses * kCounter));
}

Bytes unique_by_key_bytes(const DeviceTraits& device, std::int64_t items) {
  return tile_states_bytes(items, unique_by_key_tile(device), {.word = 16});
}

Bytes inclusive_sum_bytes(DType dtype, std::int64_t items) {
  const Bytes element = bytes_of(dtype, 1);
  const std::int64_t tile = 128 * std::min<std::int64_t>(15, 15 * 4 / element);
  const bool half = is_floating_point(dtype) && element == 2;  // classes to C++
  return tile_states_bytes(items, tile, half ? TileState{.word = 4, .value = 2} : TileState{.word = 2 * element});
}

}  // namespace memtape::ghost::cub
