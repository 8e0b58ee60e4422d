// SPDX-License-Identifier: Apache-2.0
// The caching allocator's state as a whole: what it holds, counted and listed, and how a recorded
// state is put into it.
#include <algorithm>

#include "allocator/caching_allocator.h"

namespace memtape {
namespace {

bool starts_segment(const Block& block) {
  return block.mapped && (block.prev == nullptr || !block.prev->mapped);
}

}  // namespace

Statistics CachingAllocator::statistics() const {
  Statistics stats = stats_;
  stats.active_bytes.current = allocated() + pending_bytes_;
  stats.active_bytes.peak = std::max(stats_.active_bytes.peak, stats_.allocated_bytes.peak);
  arena_.for_each([&](const Block& block) {
    if (block.allocated) ++stats.allocations;
    const bool inactive = !block.allocated && block.event_count == 0;
    if (!inactive || block.expandable || !block.is_split()) return;
    ++stats.inactive_splits;
    stats.inactive_split_bytes += block.size;
  });
  return stats;
}

std::vector<SegmentView> CachingAllocator::segments() const {
  std::vector<SegmentView> segments;
  arena_.for_each([&](const Block& first) {
    if (!starts_segment(first)) return;
    SegmentView view{
        {first.address, 0}, first.stream, first.pool->is_small, first.expandable != 0, {}};
    for (const Block* block = &first; block && block->mapped; block = block->next) {
      view.blocks.push_back(block);
      view.range.size += block->size;
    }
    segments.push_back(std::move(view));
  });
  std::sort(segments.begin(), segments.end(), [](const SegmentView& a, const SegmentView& b) {
    return a.range.address < b.range.address;
  });
  return segments;
}

namespace {

/// The blocks of a recorded segment, free ones included, as (range, live).
struct Piece {
  AddressRange range;
  bool live;
};

/// What a free event tells of a block is its request, so a block of the large pool may miss its
/// unsplit tail: a free block of at most 1 MiB cannot exist there (should_split), and belongs to
/// the block before it.
std::vector<Piece> pieces_of(const InitialSegment& segment) {
  const bool has_tails = !segment.is_small && !segment.is_expandable;
  std::vector<Piece> pieces;
  Address at = segment.range.address;
  const auto fill_to = [&](Address end) {
    if (at >= end) return;
    if (has_tails && !pieces.empty() && end - at <= kSmallSize)
      pieces.back().range.size += end - at;
    else
      pieces.push_back({{at, end - at}, false});
  };
  for (const AddressRange& block : segment.blocks) {
    fill_to(block.address);
    pieces.push_back({block, true});
    at = block.end();
  }
  fill_to(segment.range.end());
  return pieces;
}

}  // namespace

std::vector<Block*> CachingAllocator::adopt(std::span<const InitialSegment> segments,
                                            std::span<const ExpandableReservation> reservations) {
  std::vector<AddressRange> ranges;
  std::vector<Block*> live;
  for (const InitialSegment& segment : segments) {
    ranges.push_back(segment.range);
    stats_.reserved_bytes.increase(segment.range.size);
    if (segment.is_expandable) {
      adopt_expandable(segment, reservation_around(segment, reservations), live);
      continue;
    }
    adopt_blocks(segment, nullptr, 0, live);
    ++stats_.segments;
  }
  driver_.adopt(ranges);
  return live;
}

AddressRange CachingAllocator::reservation_around(
    const InitialSegment& segment, std::span<const ExpandableReservation> reservations) const {
  for (const ExpandableReservation& r : reservations)
    if (r.stream == segment.stream && r.is_small == segment.is_small &&
        r.range.address <= segment.range.address && segment.range.end() <= r.range.end())
      return r.range;
  const Bytes granule = granule_of(segment.is_small ? small_ : large_);
  return {segment.range.address,
          std::max(segment.range.size, reservation_size(driver_.memory(), granule))};
}

/// Links the blocks of a segment behind `last` (null: a segment of its own) and returns the new
/// last one.
Block* CachingAllocator::adopt_blocks(const InitialSegment& segment, Block* last,
                                      std::uint32_t expandable, std::vector<Block*>& live) {
  BlockPool& pool = segment.is_small ? small_ : large_;
  pool.free_blocks(segment.stream);
  for (const Piece& piece : pieces_of(segment)) {
    Block* block = make_block({0, pool, segment.stream}, piece.range);
    block->expandable = expandable;
    block->prev = last;
    if (last) last->next = block;
    last = block;
    if (!piece.live) {
      pool.insert(block);
      continue;
    }
    block->allocated = true;
    block->requested = piece.range.size;
    stats_.requested_bytes.increase(block->requested);
    stats_.allocated_bytes.increase(block->size);
    live.push_back(block);
  }
  return last;
}

/// What is mapped is cut out of the unmapped block at the end of its reservation.
void CachingAllocator::adopt_expandable(const InitialSegment& segment,
                                        const AddressRange& reservation,
                                        std::vector<Block*>& live) {
  BlockPool& pool = segment.is_small ? small_ : large_;
  const AddressRange range = segment.range;
  const auto ends_reservation = [&](const Block* block) {
    return block->stream == segment.stream && !block->next && block->address <= range.address &&
           block->address + block->size >= range.end();
  };
  const auto found = std::find_if(pool.unmapped.begin(), pool.unmapped.end(), ends_reservation);
  Block* tail = found != pool.unmapped.end()
                    ? *found
                    : unmapped_reservation({range.size, pool, segment.stream}, reservation);
  const Address end = tail->address + tail->size;
  const std::uint32_t expandable = tail->expandable;
  Block* last = tail;
  if (tail->address < range.address) {
    tail->size = range.address - tail->address;
  } else {
    last = tail->prev;
    remove_unmapped(tail);
    arena_.release(tail);
  }
  last = adopt_blocks(segment, last, expandable, live);
  if (range.end() == end) return;
  Block* rest = make_block({0, pool, segment.stream}, {range.end(), end - range.end()});
  rest->expandable = expandable;
  rest->mapped = false;
  rest->prev = last;
  last->next = rest;
  insert_unmapped(rest);
}

}  // namespace memtape
