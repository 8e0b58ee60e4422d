// SPDX-License-Identifier: Apache-2.0
#include "allocator/recorded_reservations.h"

#include <algorithm>

namespace memtape {
namespace {

ExpandableReservation stretch(const AddressRange& range, StreamId stream, bool is_small) {
  return {.range = range, .stream = stream, .is_small = is_small};
}

/// What was mapped at the start and what the events map; the request that follows tells the pool.
std::vector<ExpandableReservation> stretches_of(const RecordedTrace& trace) {
  std::vector<ExpandableReservation> stretches;
  for (const InitialSegment& segment : trace.initial)
    if (segment.is_expandable)
      stretches.push_back(stretch(segment.range, segment.stream, segment.is_small));
  bool is_small = false;
  for (std::size_t i = trace.events.size(); i-- > 0;) {
    const RecordedEvent& event = trace.events[i];
    if (event.action == TraceAction::alloc || event.action == TraceAction::oom)
      is_small = trace.config.round_size(event.size) <= kSmallSize;
    if (event.action == TraceAction::segment_map)
      stretches.push_back(stretch({event.address, event.size}, event.stream, is_small));
  }
  std::sort(stretches.begin(), stretches.end(),
            [](const auto& a, const auto& b) { return a.range.address < b.range.address; });
  return stretches;
}

}  // namespace

std::vector<ExpandableReservation> recorded_reservations(const RecordedTrace& trace) {
  const Bytes granule = trace.config.large_segment_size;
  const Bytes reach = CachingAllocator::reservation_size(trace.memory, granule);
  std::vector<ExpandableReservation> reservations;
  for (ExpandableReservation next : stretches_of(trace)) {
    const Bytes size = std::max(reach, next.range.size);
    if (!reservations.empty()) {
      ExpandableReservation& last = reservations.back();
      const bool same = last.stream == next.stream && last.is_small == next.is_small;
      if (same && next.range.end() <= last.range.end()) continue;
      last.range.size = std::min(last.range.size, next.range.address - last.range.address);
    }
    next.range.size = size;
    reservations.push_back(next);
  }
  return reservations;
}

}  // namespace memtape
