// SPDX-License-Identifier: Apache-2.0
// Fragmentation: what the free memory inside the segments looks like at one moment, and what holds
// the half-empty segments: a block that is in use keeps its whole segment from going back.
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
  std::vector<const BlockLife*> pins;  ///< its live blocks, largest first; the few largest
  std::size_t live_blocks = 0;
};

struct Fragmentation {
  std::uint32_t event = 0;
  Bytes free = 0;          ///< in all segments
  Bytes largest_hole = 0;  ///< of the large pool
  Bytes releasable = 0;    ///< whole segments without a live block: empty_cache() gives them back
  std::size_t segments = 0, half_empty = 0;
  std::vector<PinnedSegment> pinned;  ///< with free memory beside live blocks, most free first
};

Fragmentation fragmentation_at(const Recording& recording, const Held& held,
                               const HeldMoment& moment);

}  // namespace memtape
