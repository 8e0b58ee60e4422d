// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/cub.h"

namespace memtape::ghost::cub {
namespace {

constexpr Bytes kAlignment = 256;

constexpr Bytes aligned(Bytes bytes) { return ceil_div(bytes, kAlignment) * kAlignment; }

/// AliasTemporaries: parts, each aligned, in one buffer that may itself start anywhere.
constexpr Bytes blob(Bytes aligned_parts) { return aligned_parts + kAlignment - 1; }

/// ScanTileState of a primitive type of 8 bytes: one 16-byte word per tile and 32 of padding, aliased once by the state and
/// once by the algorithm.
Bytes tile_states_bytes(std::int64_t items, std::int64_t tile) {
  constexpr Bytes kPadding = 32, kWord = 16;
  return blob(aligned(blob(aligned((ceil_div(items, tile) + kPadding) * kWord))));
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
  return tile_states_bytes(items, unique_by_key_tile(device));
}

Bytes exclusive_sum_bytes(std::int64_t items) { return tile_states_bytes(items, 128 * (15 * 4 / 8)); }

}  // namespace memtape::ghost::cub
