// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/cub.h"

#include <algorithm>

#include "release/torch_changes.h"

namespace memtape::ghost::cub {
namespace {

constexpr Bytes kAlignment = 256;

constexpr Bytes aligned(Bytes bytes) { return ceil_div(bytes, kAlignment) * kAlignment; }

/// AliasTemporaries: parts, each aligned, in one buffer that may itself start anywhere.
constexpr Bytes blob(Bytes aligned_parts) { return aligned_parts + kAlignment - 1; }

/// What a ScanTileState keeps per tile: a status word, with the value in it for the types of C++;
/// else two values beside it.
struct TileState {
  Bytes word, value = 0;
};

/// tile_state_allocation_size: states of all tiles and 32 of padding, aliased once there, where it
/// does, and once by the algorithm.
Bytes tile_states_bytes(std::int64_t items, std::int64_t tile, const TileState& state) {
  constexpr std::int64_t kPadding = 32;
  const std::int64_t states = ceil_div(items, tile) + kPadding;
  const Bytes parts = aligned(states * state.word) + 2 * aligned(states * state.value);
  return blob(has(changes::kCubAliasesTileStates) ? aligned(blob(parts)) : parts);
}

/// OnesweepPolicy of tuning_radix_sort.cuh: threads times items, the items scaled from 4 bytes to
/// the 8 of a value.
std::int64_t onesweep_tile(const DeviceTraits& device, Bytes key) {
  if (device.at_least(9) && has(changes::kCubIsTunedForEach))
    return 384 * ((key == 4 ? 29 : 24) * 4 / 8);
  if (device.at_least(8)) return 384 * ((key == 4 ? 17 : 21) * 4 / 8);
  return 256 * (23 * 4 / 8);
}

/// The tiles of an algorithm that is tuned for the servers' GPUs.
struct Tiles {
  std::int64_t any, ampere, hopper, blackwell;
};

std::int64_t tile_of(const DeviceTraits& device, const Tiles& tiles) {
  if (!has(changes::kCubIsTunedForEach)) return tiles.any;
  if (device.at_least(10)) return tiles.blackwell;
  if (device.at_least(9)) return tiles.hopper;
  return device.at_least(8) && !device.at_least(8, 6) ? tiles.ampere : tiles.any;
}

/// UniqueByKeyPolicyT of tuning_unique_by_key.cuh for 8-byte keys and 4-byte values.
constexpr Tiles kUniqueByKey{64 * (11 * 4 / 8), 256 * 7, 640 * 7, 384 * 10};
/// ScanByKeyPolicyT of tuning_scan_by_key.cuh for 4-byte keys and values.
constexpr Tiles kScanByKey{256 * 9, 256 * 15, 288 * 14, 224 * 20};
/// SelectIfPolicy of tuning_select_if.cuh for 4-byte values with flags, nothing rejected kept.
constexpr Tiles kSelectFlagged{128 * 5, 192 * 12, 384 * 11, 352 * 10};

}  // namespace

Bytes radix_sort_pairs_bytes(const DeviceTraits& device, std::int64_t items, Bytes key,
                             std::int64_t bits) {
  constexpr std::int64_t kSingleTile = 256 * (19 * 4 / 8), kDigits = 256, kOffset = 8, kCounter = 4,
                         kValue = 8;
  if (items <= kSingleTile) return 1;
  const Bytes passes = std::min<Bytes>(key, ceil_div(bits, 8));  // one byte at a time
  const Bytes bins = passes * kDigits * kOffset;
  const Bytes lookback = ceil_div(items, onesweep_tile(device, key)) * kDigits * kCounter;
  // One pass goes straight from input to output.
  const Bytes between = passes > 1 ? aligned(items * key) + aligned(items * kValue) : 0;
  return blob(aligned(bins) + aligned(lookback) + between + aligned(passes * kCounter));
}

Bytes sum_by_key_bytes(const DeviceTraits& device, std::int64_t items) {
  constexpr std::int64_t kPadding = 32, kWord = 16, kKey = 4;
  const std::int64_t tiles = ceil_div(items, tile_of(device, kScanByKey));
  return blob(aligned((tiles + kPadding) * kWord) + aligned((tiles + 1) * kKey));
}

Bytes unique_by_key_bytes(const DeviceTraits& device, std::int64_t items) {
  return tile_states_bytes(items, tile_of(device, kUniqueByKey),
                           {.word = has(changes::kCubCountsIn64Bits) ? 16 : 8});
}

Bytes inclusive_sum_bytes(DType dtype, std::int64_t items) {
  const Bytes element = bytes_of(dtype, 1);
  const std::int64_t tile = 128 * std::min<std::int64_t>(15, 15 * 4 / element);
  const bool half = is_floating_point(dtype) && element == 2;  // classes to C++
  return tile_states_bytes(
      items, tile, half ? TileState{.word = 4, .value = 2} : TileState{.word = 2 * element});
}

Bytes reduce_bytes(const DeviceTraits& device, std::int64_t items) {
  constexpr std::int64_t kThreads = 256, kSingleTile = kThreads * 16, kSubscription = 5;
  if (items <= kSingleTile) return 1;
  const std::int64_t blocks =
      device.sm_count * (device.max_threads_per_sm() / kThreads) * kSubscription;
  return blob(aligned(blocks * bytes_of(DType::int32, 1)));
}

Bytes select_flagged_bytes(const DeviceTraits& device, std::int64_t items) {
  return tile_states_bytes(items, tile_of(device, kSelectFlagged), {.word = 8});
}

}  // namespace memtape::ghost::cub
