// SPDX-License-Identifier: Apache-2.0
#include "timeline/play.h"

#include <algorithm>

namespace memtape {
namespace {

/// The CachingAllocator as the player sees it.
class Caching {
 public:
  Caching(const Tape& tape, CachingAllocator& allocator, Played& played)
      : tape_(tape), allocator_(allocator), played_(played) {
    played.sizes.resize(tape.requested.size());
    played.addresses.resize(tape.requested.size());
    played.blocks.resize(tape.requested.size());
  }

  bool alloc(const Event& event) {
    const Bytes bytes = tape_.requested[event.block];
    if (bytes <= 0) return true;
    Block* block = allocator_.malloc(bytes, event.stream);
    if (!block) return false;
    played_.blocks[event.block] = block;
    played_.sizes[event.block] = block->size;
    played_.addresses[event.block] = block->address;
    return true;
  }
  void free(const Event& event) {
    if (Block* block = played_.blocks[event.block]) allocator_.free(block);
  }
  void record_stream(const Event& event) {
    if (Block* block = played_.blocks[event.block]) allocator_.record_stream(block, event.stream);
  }
  void empty_cache() { allocator_.empty_cache(); }

  Levels levels() const {
    return {allocator_.requested(), allocator_.allocated(), allocator_.reserved()};
  }
  std::int64_t retries() const { return allocator_.num_alloc_retries(); }
  Bytes failed_segment() const { return allocator_.failure() ? allocator_.failure()->segment : 0; }
  void log_segments_to(std::vector<SegmentEvent>* log) { allocator_.log_segments_to(log); }

 private:
  const Tape& tape_;
  CachingAllocator& allocator_;
  Played& played_;
};

/// The IdealAllocator as the player sees it.
class Ideal {
 public:
  Ideal(const Tape& tape, IdealAllocator& allocator) : tape_(tape), allocator_(allocator) {}

  bool alloc(const Event& event) {
    allocator_.malloc(tape_.requested[event.block]);
    return true;
  }
  void free(const Event& event) { allocator_.free(tape_.requested[event.block]); }
  void record_stream(const Event&) {}
  void empty_cache() {}

  Levels levels() const { return {allocator_.level(), allocator_.level(), allocator_.level()}; }
  std::int64_t retries() const { return 0; }
  Bytes failed_segment() const { return 0; }
  void log_segments_to(std::vector<SegmentEvent>*) {}

 private:
  const Tape& tape_;
  IdealAllocator& allocator_;
};

void raise_peak(Window& window, const Levels& now, std::size_t event) {
  if (now.allocated > window.peak.allocated) {
    window.peak.allocated = now.allocated;
    window.peak_event = event;
  }
  window.peak.requested = std::max(window.peak.requested, now.requested);
  window.peak.reserved = std::max(window.peak.reserved, now.reserved);
}

Window open_window(const Mark& mark, std::size_t event, const Levels& now) {
  return {.mark = mark,
          .first_event = event,
          .last_event = event,
          .peak = now,
          .peak_event = event,
          .at_start = now};
}

/// The mark in force before event `at`.
Mark mark_before(const Tape& tape, std::size_t at) {
  while (at-- > 0)
    if (tape.events[at].kind == EventKind::mark) return tape.marks[tape.events[at].block];
  return {};
}

template <class Allocator>
Timeline play_on(const Tape& tape, Allocator allocator, const PlayOptions& options) {
  Timeline timeline;
  const std::size_t to = std::min(options.to, tape.events.size());
  const std::int64_t retries_before = allocator.retries();
  Window window = open_window({}, options.from, allocator.levels());
  std::size_t at = options.from;
  const bool begins_at_mark = at < to && tape.events[at].kind == EventKind::mark;
  if (!begins_at_mark) window.mark = mark_before(tape, at);
  const auto close = [&] {
    window.last_event = at;
    if (at > window.first_event) timeline.windows.push_back(window);
  };
  std::vector<SegmentEvent> segment_log;
  if (options.segments) allocator.log_segments_to(&segment_log);
  for (; at < to; ++at) {
    const Event event = tape.events[at];
    switch (event.kind) {
      case EventKind::alloc:
        if (!allocator.alloc(event)) {
          timeline.out_of_memory = OutOfMemory{.event = at,
                                               .block = event.block,
                                               .requested = tape.requested[event.block],
                                               .segment = allocator.failed_segment(),
                                               .levels = allocator.levels()};
        } else {
          raise_peak(window, allocator.levels(), at);
        }
        break;
      case EventKind::free: allocator.free(event); break;
      case EventKind::record_stream: allocator.record_stream(event); break;
      case EventKind::empty_cache: allocator.empty_cache(); break;
      case EventKind::mark:
        close();
        window = open_window(tape.marks[event.block], at, allocator.levels());
        break;
    }
    for (const SegmentEvent& change : segment_log) timeline.segments.push_back({at, change});
    segment_log.clear();
    if (timeline.out_of_memory) break;
    if (options.samples) timeline.samples.push_back({at, allocator.levels()});
  }
  if (options.segments) allocator.log_segments_to(nullptr);
  close();
  timeline.final_levels = allocator.levels();
  timeline.alloc_retries = allocator.retries() - retries_before;
  return timeline;
}

}  // namespace

Timeline play(const Tape& tape, CachingAllocator& allocator, Played& played,
              const PlayOptions& options) {
  return play_on(tape, Caching(tape, allocator, played), options);
}

Timeline play(const Tape& tape, IdealAllocator& allocator, const PlayOptions& options) {
  return play_on(tape, Ideal(tape, allocator), options);
}

}  // namespace memtape
