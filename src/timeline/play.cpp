// SPDX-License-Identifier: Apache-2.0
#include "timeline/play.h"

#include <algorithm>
#include <utility>

namespace memtape {
namespace {

/// The CachingAllocator as the player sees it.
class Caching {
 public:
  Caching(const Tape& tape, CachingAllocator& allocator, Played& played)
      : allocator_(allocator), requested_(tape.requested.data()) {
    played.sizes.resize(tape.requested.size());
    played.addresses.resize(tape.requested.size());
    played.blocks.resize(tape.requested.size());
    sizes_ = played.sizes.data();
    addresses_ = played.addresses.data();
    blocks_ = played.blocks.data();
  }

  bool alloc(const Event& event) {
    const Bytes bytes = requested_[event.block];
    if (bytes <= 0) return true;
    Block* block = allocator_.malloc(bytes, event.stream);
    if (!block) return false;
    blocks_[event.block] = block;
    sizes_[event.block] = block->size;
    addresses_[event.block] = block->address;
    return true;
  }
  void free(const Event& event) {
    if (Block* block = blocks_[event.block]) allocator_.free(block);
  }
  void record_stream(const Event& event) {
    if (Block* block = blocks_[event.block]) allocator_.record_stream(block, event.stream);
  }
  void empty_cache() { allocator_.empty_cache(); }

  Levels levels() const {
    return {allocator_.requested(), allocator_.allocated(), allocator_.reserved()};
  }
  std::int64_t retries() const { return allocator_.num_alloc_retries(); }
  Bytes failed_segment() const { return allocator_.failure() ? allocator_.failure()->segment : 0; }
  void log_segments_to(std::vector<SegmentEvent>* log) { allocator_.log_segments_to(log); }

 private:
  CachingAllocator& allocator_;
  const Bytes* requested_;  ///< by BlockId, as are the others
  Bytes* sizes_;
  Address* addresses_;
  Block** blocks_;
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
class Player {
 public:
  Player(const Tape& tape, Allocator allocator, const PlayOptions& options)
      : tape_(tape),
        allocator_(allocator),
        options_(options),
        at_(options.from),
        end_(std::max(at_, std::min(options.to, tape.events.size()))),
        retries_before_(allocator.retries()),
        window_(open_window(mark_before(tape, at_), at_, allocator.levels())) {}

  Timeline run() {
    if (options_.segments) allocator_.log_segments_to(&segment_log_);
    const Event* const events = tape_.events.data();
    const bool is_watched = options_.segments || options_.samples;
    for (; at_ < end_; ++at_) {
      take(events[at_]);
      if (is_watched) watch();
    }
    if (options_.segments) allocator_.log_segments_to(nullptr);
    close_window(timeline_.out_of_memory ? timeline_.out_of_memory->event : end_);
    timeline_.final_levels = allocator_.levels();
    timeline_.alloc_retries = allocator_.retries() - retries_before_;
    return std::move(timeline_);
  }

 private:
  void take(const Event& event) {
    switch (event.kind) {
      case EventKind::alloc:
        if (!allocator_.alloc(event)) return fail(event);
        return raise_peak(window_, allocator_.levels(), at_);
      case EventKind::free: return allocator_.free(event);
      case EventKind::record_stream: return allocator_.record_stream(event);
      case EventKind::empty_cache: return allocator_.empty_cache();
      case EventKind::mark:
        close_window(at_);
        window_ = open_window(tape_.marks[event.block], at_, allocator_.levels());
    }
  }

  void fail(const Event& event) {
    timeline_.out_of_memory = OutOfMemory{.event = at_,
                                          .block = event.block,
                                          .requested = tape_.requested[event.block],
                                          .segment = allocator_.failed_segment(),
                                          .levels = allocator_.levels()};
    end_ = at_ + 1;
  }

  /// A window without events, as before a mark that comes first, is none.
  void close_window(std::size_t end) {
    window_.last_event = end;
    if (end > window_.first_event) timeline_.windows.push_back(window_);
  }

  void watch() {
    for (const SegmentEvent& change : segment_log_) timeline_.segments.push_back({at_, change});
    segment_log_.clear();
    if (options_.samples) timeline_.samples.push_back({at_, allocator_.levels()});
  }

  const Tape& tape_;
  Allocator allocator_;
  const PlayOptions& options_;
  std::size_t at_;
  std::size_t end_;  ///< behind the last event, or the one that failed
  const std::int64_t retries_before_;
  Window window_;
  Timeline timeline_;
  std::vector<SegmentEvent> segment_log_;
};

}  // namespace

Timeline play(const Tape& tape, CachingAllocator& allocator, Played& played,
              const PlayOptions& options) {
  return Player(tape, Caching(tape, allocator, played), options).run();
}

Timeline play(const Tape& tape, IdealAllocator& allocator, const PlayOptions& options) {
  return Player(tape, Ideal(tape, allocator), options).run();
}

}  // namespace memtape
