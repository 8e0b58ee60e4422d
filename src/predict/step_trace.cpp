// SPDX-License-Identifier: Apache-2.0
#include "predict/step_trace.h"

#include <utility>

namespace memtape {
namespace {

/// Segments as reports draw them: a request of at most 1 MiB is served by the small pool.
void add_segments(const Tape& tape, const Timeline& timeline, std::vector<SegmentChange>& changes) {
  for (const SegmentMoment& moment : timeline.segments) {
    const Event& event = tape.events[moment.event];
    const SegmentEvent::Kind kind = moment.change.kind;
    SegmentChange change;
    change.event = moment.event;
    change.taken =
        kind == SegmentEvent::Kind::segment_alloc || kind == SegmentEvent::Kind::segment_map;
    change.small_pool = event.kind == EventKind::alloc && tape.requested[event.block] <= kSmallSize;
    change.expandable =
        kind == SegmentEvent::Kind::segment_map || kind == SegmentEvent::Kind::segment_unmap;
    change.stream = event.stream;
    change.address = moment.change.range.address;
    change.size = moment.change.range.size;
    changes.push_back(change);
  }
}

}  // namespace

Trace trace_of(Tape&& tape, StepPlay&& play, int step) {
  Trace trace;
  add_segments(tape, play.before, trace.segments);
  add_segments(tape, play.step, trace.segments);
  trace.tape = std::move(tape);
  trace.timeline = std::move(play.step);
  trace.sizes = std::move(play.played.sizes);
  trace.addresses.assign(play.played.addresses.begin(), play.played.addresses.end());
  trace.step = step;
  return trace;
}

}  // namespace memtape
