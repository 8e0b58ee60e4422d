// SPDX-License-Identifier: Apache-2.0
// Timeline: a tape played through an allocator, and what is read off it: high-water marks per
// phase, the level between steps, what was alive at the peak, and, under a device limit, the
// request that fails.
//
//     bytes            peak_event
//      |         ___/\___|
//      |      __/        \__          ___
//      |_____/              \________/   \_____ steady
//        forward | backward | optimizer |
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "allocator/segment_event.h"
#include "base/bytes.h"
#include "tape/category.h"
#include "tape/tape.h"

namespace memtape {

/// The allocator's three levels, under torch's names: live request sizes, live blocks, segments.
struct Levels {
  Bytes requested = 0, allocated = 0, reserved = 0;

  /// Raises each level to the higher of the two.
  void raise_to(const Levels& other) {
    requested = std::max(requested, other.requested);
    allocated = std::max(allocated, other.allocated);
    reserved = std::max(reserved, other.reserved);
  }
};

/// One phase of one micro-batch of one step: from its mark to the next.
struct Window {
  Mark mark;
  std::size_t first_event = 0, last_event = 0;  ///< half open
  Levels peak;                 ///< each level's own maximum, the level at the start included
  std::size_t peak_event = 0;  ///< the event after which `allocated` was highest
  Levels at_start;
};

/// A level after each event, for pictures; kept only when asked for.
struct Sample {
  std::size_t event;
  Levels levels;
};

/// The request the device could not serve, after caches were freed and the request retried.
struct OutOfMemory {
  std::size_t event = 0;
  BlockId block = 0;
  Bytes requested = 0;  ///< what the program asked for
  Bytes segment = 0;    ///< what the allocator then asked the driver for
  Levels levels;        ///< at that moment
};

/// A segment that the allocator took from the driver or gave back while event `event` was played.
struct SegmentMoment {
  std::size_t event = 0;
  SegmentEvent change;
};

struct Timeline {
  std::vector<Window> windows;
  std::vector<Sample> samples;
  std::vector<SegmentMoment> segments;  ///< kept only when asked for
  Levels final_levels;
  std::int64_t alloc_retries = 0;
  std::optional<OutOfMemory> out_of_memory;
};

/// Size of each block in the allocator (not of its request), by BlockId, as far as the tape was
/// played.
using BlockSizes = std::vector<Bytes>;

/// The lifetime of each block: from the event that allocates it to the one that frees it.
class Lifetimes {
 public:
  explicit Lifetimes(const Tape& tape);

  /// Ids of the blocks alive after event `at`, in order of allocation.
  std::vector<BlockId> alive(std::size_t at) const;
  /// The same by category; sizes are the allocator's, so the total is `allocated` at that moment.
  CategoryBytes alive_by_category(const BlockSizes& sizes, std::size_t at) const;

 private:
  /// The first block that is not yet born after event `at`.
  BlockId born_until(std::size_t at) const;

  const Tape& tape_;
  std::vector<std::uint32_t> freed_;  ///< by BlockId
};

}  // namespace memtape
