// SPDX-License-Identifier: Apache-2.0
#include "evidence/held.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "allocator/replay.h"

namespace memtape {
namespace {

class Walk {
 public:
  Walk(const Recording& recording, Held& held, const std::vector<Bytes>& sizes)
      : recording_(recording), held_(held), sizes_(sizes) {
    for (const OlderBlock& block : recording.older) {
      held_.lives.push_back({.address = block.range.address,
                             .requested = block.requested,
                             .size = block.range.size,
                             .stack = block.stack,
                             .category = block.category,
                             .is_older = true});
      live_[block.range.address] = held_.lives.size() - 1;
      now_.requested += block.requested;
      now_.allocated += block.range.size;
    }
    for (const InitialSegment& segment : recording.trace.initial)
      now_.reserved += segment.range.size;
    held_.start = held_.peak = held_.peak_reserved = {0, now_, true};
  }

  void run() {
    const auto count = static_cast<std::uint32_t>(recording_.trace.events.size());
    for (std::uint32_t i = 0; i < count; ++i) step(i, recording_.trace.events[i]);
    held_.end = {count == 0 ? 0 : count - 1, now_, count == 0};
    held_.has_events = count > 0;
  }

 private:
  void step(std::uint32_t i, const RecordedEvent& event) {
    switch (event.action) {
      case TraceAction::alloc: alloc(i, event); break;
      case TraceAction::free_requested: free(i, event.address, false); break;
      case TraceAction::free_completed: free(i, event.address, true); break;
      case TraceAction::segment_alloc:
      case TraceAction::segment_map:
      case TraceAction::segment_free:
      case TraceAction::segment_unmap:
        now_.reserved += change_of_reserved(event);
        if (now_.reserved > held_.peak_reserved.levels.reserved)
          held_.peak_reserved = {i, now_, false};
        break;
      case TraceAction::oom: held_.ooms.push_back({i, event.size, event.address, now_}); break;
      default: break;
    }
  }

  void alloc(std::uint32_t i, const RecordedEvent& event) {
    const Bytes known = i < sizes_.size() ? sizes_[i] : 0;
    const Bytes size = known > 0 ? known : recording_.trace.config.round_size(event.size);
    held_.lives.push_back({.address = event.address,
                           .requested = event.size,
                           .size = size,
                           .born = i,
                           .stack = recording_.stack_of(i),
                           .category = recording_.event_categories.empty()
                                           ? std::uint8_t{0}
                                           : recording_.event_categories[i],
                           .stream = event.stream});
    live_[event.address] = held_.lives.size() - 1;
    now_.requested += event.size;
    now_.allocated += size;
    if (now_.allocated > held_.peak.levels.allocated) held_.peak = {i, now_, false};
  }

  void free(std::uint32_t i, Address address, bool completed) {
    const auto found = live_.find(address);
    if (found == live_.end()) return;
    BlockLife& life = held_.lives[found->second];
    if (life.died == kAlways) {
      life.died = i;
      now_.requested -= life.requested;
      now_.allocated -= life.size;
    }
    if (completed) live_.erase(found);
  }

  const Recording& recording_;
  Held& held_;
  const std::vector<Bytes>& sizes_;
  std::unordered_map<Address, std::size_t> live_;
  Levels now_;
};

/// Segments as they come and go; stretches of expandable ones join where they touch.
class SegmentWalk {
 public:
  explicit SegmentWalk(const std::vector<InitialSegment>& initial) {
    for (const InitialSegment& s : initial) segments_[s.range.address] = s;
  }

  void step(const RecordedEvent& event) {
    switch (event.action) {
      case TraceAction::segment_alloc:
        segments_[event.address] = {
            {event.address, event.size}, event.stream, event.size == kSmallBuffer, false, {}};
        break;
      case TraceAction::segment_free: segments_.erase(event.address); break;
      case TraceAction::segment_map: map(event); break;
      case TraceAction::segment_unmap: unmap(event.address, event.size); break;
      default: break;
    }
  }

  std::vector<InitialSegment> take() const {
    std::vector<InitialSegment> all;
    for (const auto& [address, segment] : segments_) all.push_back(segment);
    return all;
  }

 private:
  void map(const RecordedEvent& event) {
    InitialSegment made{
        {event.address, event.size}, event.stream, event.size % kLargeBuffer != 0, true, {}};
    auto next = segments_.lower_bound(event.address);
    if (next != segments_.end() && next->second.is_expandable && next->first == made.range.end()) {
      made.range.size += next->second.range.size;
      made.is_small = next->second.is_small;
      next = segments_.erase(next);
    }
    if (next != segments_.begin()) {
      InitialSegment& before = std::prev(next)->second;
      if (before.is_expandable && before.range.end() == event.address) {
        before.range.size += made.range.size;
        return;
      }
    }
    segments_[event.address] = made;
  }

  void unmap(Address address, Bytes size) {
    auto at = segments_.upper_bound(address);
    if (at == segments_.begin()) return;
    --at;
    const InitialSegment whole = at->second;
    const Address end = whole.range.end();
    if (address + size > end) return;
    segments_.erase(at);
    InitialSegment part = whole;
    part.range.size = address - whole.range.address;
    if (part.range.size > 0) segments_[part.range.address] = part;
    part.range = {address + size, end - address - size};
    if (part.range.size > 0) segments_[part.range.address] = part;
  }

  std::map<Address, InitialSegment> segments_;
};

}  // namespace

std::vector<const BlockLife*> Held::alive_at(const HeldMoment& moment) const {
  std::vector<const BlockLife*> alive;
  for (const BlockLife& life : lives) {
    if (moment.is_start ? life.is_older : life.alive_after(moment.event)) alive.push_back(&life);
    if (!life.is_older && (moment.is_start || life.born > moment.event)) break;
  }
  return alive;
}

Held held_of(const Recording& recording) {
  Held held;
  std::vector<Bytes> sizes;
  if (recording.is_cut) {
    held.not_exact = "the state before its first event is not known";
  } else {
    const ReplayReport report = replay(recording.trace, {.placement = {}, .block_sizes = &sizes});
    held.is_exact = !report.disagreement;
    if (report.disagreement)
      held.not_exact = fmt::format("the replica of the allocator parts from it at event {}",
                                   report.disagreement->event);
  }
  Walk(recording, held, sizes).run();
  return held;
}

Bytes change_of_reserved(const RecordedEvent& event) {
  switch (event.action) {
    case TraceAction::segment_alloc:
    case TraceAction::segment_map: return event.size;
    case TraceAction::segment_free:
    case TraceAction::segment_unmap: return -event.size;
    default: return 0;
  }
}

std::vector<HeldMoment> levels_of(const Recording& recording, const Held& held, std::size_t most) {
  const std::size_t count = recording.trace.events.size();
  const std::size_t every = std::max<std::size_t>(1, count / std::max<std::size_t>(1, most));
  std::vector<Levels> changes(count / every + 2);
  const auto add = [&](std::uint32_t event, Bytes requested, Bytes allocated, Bytes reserved) {
    Levels& at = changes[event / every];
    at.requested += requested;
    at.allocated += allocated;
    at.reserved += reserved;
  };
  for (const BlockLife& life : held.lives) {
    if (!life.is_older) add(life.born, life.requested, life.size, 0);
    if (life.died != kAlways) add(life.died, -life.requested, -life.size, 0);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    add(i, 0, 0, change_of_reserved(recording.trace.events[i]));
  }
  std::vector<HeldMoment> moments;
  Levels now = held.start.levels;
  for (std::size_t i = 0; i * every < count; ++i) {
    now.requested += changes[i].requested;
    now.allocated += changes[i].allocated;
    now.reserved += changes[i].reserved;
    moments.push_back({static_cast<std::uint32_t>(std::min(count - 1, (i + 1) * every - 1)), now});
  }
  return moments;
}

std::vector<InitialSegment> segments_at(const Recording& recording, const HeldMoment& moment) {
  SegmentWalk walk(recording.trace.initial);
  if (moment.is_start) return walk.take();
  const auto& events = recording.trace.events;
  for (std::size_t i = 0; i < events.size() && i <= moment.event; ++i) walk.step(events[i]);
  return walk.take();
}

}  // namespace memtape
