// SPDX-License-Identifier: Apache-2.0
// Statistics: what torch.cuda.memory_stats() counts, under its names, for both pools together.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/bytes.h"

namespace memtape {

/// A level and its high-water mark.
struct Stat {
  Bytes current = 0, peak = 0;

  void increase(Bytes n) {
    current += n;
    peak = std::max(peak, current);
  }
  void decrease(Bytes n) { current -= n; }
};

struct Statistics {
  Stat requested_bytes;  ///< what programs asked for, until the block can be used again
  Stat allocated_bytes;  ///< whole blocks, until the program frees them
  Stat active_bytes;     ///< whole blocks, until they can be used again
  Stat reserved_bytes;   ///< segments
  Bytes inactive_split_bytes =
      0;  ///< free blocks that share their segment, so that it cannot be released
  std::int64_t allocations = 0, segments = 0, inactive_splits = 0;
  std::int64_t num_alloc_retries = 0, num_ooms = 0, num_sync_all_streams = 0;
  std::int64_t num_device_alloc = 0, num_device_free = 0;
};

}  // namespace memtape
