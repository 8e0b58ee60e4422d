// SPDX-License-Identifier: Apache-2.0
// AllocatorConfig: what PYTORCH_CUDA_ALLOC_CONF (PYTORCH_ALLOC_CONF) can change, and the rounding
// of sizes that follows. Keys, bounds and defaults are those of torch 2.11
// (c10/core/AllocatorConfig.h, c10/cuda/CUDAAllocatorConfig.h); keys that touch only pinned host
// memory or locks are accepted and change nothing here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "allocator/block.h"
#include "allocator/driver.h"
#include "base/result.h"

namespace memtape {

/// Which free block of several of one size is taken first. `oldest_block` is the one whose Block
/// object is the oldest; `oldest_segment` is the lowest one in the segment that was made first.
enum class EqualBlocks : std::uint8_t { lowest_address, oldest_block, oldest_segment };

struct AllocatorConfig {
  /// Size classes of roundup_power2_divisions: below 2 MiB, 2 to 4 MiB, ... from 32 GiB.
  static constexpr std::size_t kRoundupIntervals = 16;

  Bytes large_segment_size = kLargeBuffer;
  Bytes max_split_size = kUnlimited;
  Bytes max_non_split_rounding_size = kLargeBuffer;
  double garbage_collection_threshold = 0;
  std::optional<double> per_process_memory_fraction;
  std::array<std::uint32_t, kRoundupIntervals> roundup_power2_divisions{};
  bool rounds_to_divisions = false;  ///< some entry of the table above exceeds 1
  bool expandable_segments = false;
  EqualBlocks equal_blocks = EqualBlocks::lowest_address;  ///< by release, not by the variable

  /// "max_split_size_mb:128,expandable_segments:True" and so on; "" is the default.
  static Result<AllocatorConfig> parse(std::string_view text);

  void set_roundup_power2_divisions(std::size_t first, std::size_t last, std::uint32_t divisions);

  /// The size of the block for a request of `bytes` > 0 (round_size).
  Bytes round_size(Bytes bytes) const {
    if (bytes < kMinBlockSize) return kMinBlockSize;
    if (rounds_to_divisions) [[unlikely]]
      return round_to_division(bytes);
    return round_up(bytes, kMinBlockSize);
  }
  /// The segment to ask the driver for when no free block holds `size` (get_allocation_size).
  Bytes allocation_size(Bytes size) const {
    if (size <= kSmallSize) return kSmallBuffer;
    return size < kMinLargeAlloc ? large_segment_size : round_up(size, kRoundLarge);
  }
  /// Whether a block that would leave `remaining` bytes is cut (should_split).
  bool should_split(bool small_pool, Bytes size, Bytes remaining) const {
    if (small_pool || expandable_segments) return remaining >= kMinBlockSize;
    return size < max_split_size && remaining > kSmallSize;
  }

 private:
  Bytes round_to_division(Bytes bytes) const;
};

}  // namespace memtape
