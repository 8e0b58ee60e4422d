// SPDX-License-Identifier: Apache-2.0
#include "evidence/fragmentation.h"

#include <algorithm>

namespace memtape {
namespace {

constexpr std::size_t kMostPins = 4, kMostPinned = 64;

/// One segment with the live blocks that lie in it, which are in order of address.
PinnedSegment looked_at(const InitialSegment& segment, std::vector<const BlockLife*> blocks) {
  PinnedSegment seen{.address = segment.range.address,
                     .size = segment.range.size,
                     .is_small = segment.is_small,
                     .is_expandable = segment.is_expandable,
                     .pins = {},
                     .live_blocks = blocks.size()};
  Address at = segment.range.address;
  for (const BlockLife* block : blocks) {
    seen.largest_hole = std::max(seen.largest_hole, block->address - at);
    seen.used += block->size;
    at = block->address + block->size;
  }
  seen.largest_hole = std::max(seen.largest_hole, segment.range.end() - at);
  std::ranges::stable_sort(blocks, std::ranges::greater(), &BlockLife::size);
  if (blocks.size() > kMostPins) blocks.resize(kMostPins);
  seen.pins = std::move(blocks);
  return seen;
}

}  // namespace

Fragmentation fragmentation_at(const Recording& recording, const Held& held,
                               const HeldMoment& moment) {
  std::vector<const BlockLife*> alive = held.alive_at(moment);
  std::ranges::sort(alive, {}, &BlockLife::address);
  Fragmentation found{.event = moment.event, .pinned = {}};
  auto at = alive.begin();
  for (const InitialSegment& segment : segments_at(recording, moment)) {
    while (at != alive.end() && (*at)->address < segment.range.address) ++at;
    std::vector<const BlockLife*> inside;
    for (; at != alive.end() && (*at)->address < segment.range.end(); ++at) inside.push_back(*at);
    PinnedSegment seen = looked_at(segment, std::move(inside));
    const Bytes free = seen.size - seen.used;
    ++found.segments;
    found.free += free;
    if (!seen.is_small) found.largest_hole = std::max(found.largest_hole, seen.largest_hole);
    if (seen.live_blocks == 0) found.releasable += seen.size;
    if (2 * free >= seen.size && seen.live_blocks > 0) ++found.half_empty;
    if (free > 0 && seen.live_blocks > 0) found.pinned.push_back(std::move(seen));
  }
  std::ranges::stable_sort(found.pinned, std::ranges::greater(),
                           [](const PinnedSegment& s) { return s.size - s.used; });
  if (found.pinned.size() > kMostPinned) found.pinned.resize(kMostPinned);
  return found;
}

}  // namespace memtape
