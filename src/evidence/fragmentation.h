// SPDX-License-Identifier: Apache-2.0
// Fragmentation: what the free memory inside the segments looks like at one moment, and what holds
// the segments that are partly empty: one block in use keeps its whole segment from going back to
// the driver.
//
//     segment  [used][      free      ][used][  free  ]
//                     largest hole
#pragma once

#include <vector>

#include "evidence/held.h"

namespace memtape {

struct PinnedSegment {
  Address address = 0;
  Bytes size = 0, used = 0, largest_hole = 0;
  bool is_small = false, is_expandable = false;
  std::vector<const BlockLife*> pins;  ///< a few of its live blocks, the largest first
  std::size_t live_blocks = 0;
};

struct Fragmentation {
  std::uint32_t event = 0;
  Bytes free = 0;          ///< the sum over all segments
  Bytes largest_hole = 0;  ///< in the large pool
  Bytes releasable = 0;    ///< whole segments without a live block, which empty_cache() gives back
  std::size_t segments = 0, half_empty = 0;
  /// The segments with free memory beside live blocks; the one with most free memory first.
  std::vector<PinnedSegment> pinned;
};

Fragmentation fragmentation_at(const Recording& recording, const Held& held,
                               const HeldMoment& moment);

}  // namespace memtape
