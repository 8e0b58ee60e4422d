// SPDX-License-Identifier: Apache-2.0
#include "allocator/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "allocator/recorded_driver.h"
#include "allocator/recorded_reservations.h"

namespace memtape {
namespace {

bool is_segment_event(const RecordedEvent& event) {
  return event.action >= TraceAction::segment_alloc && event.action <= TraceAction::segment_unmap;
}

bool is_release(const RecordedEvent& event) {
  return event.action == TraceAction::segment_free || event.action == TraceAction::segment_unmap;
}

TraceAction action_of(SegmentEvent::Kind kind) {
  return static_cast<TraceAction>(static_cast<int>(TraceAction::segment_alloc) +
                                  static_cast<int>(kind));
}

std::string text_of(const SegmentEvent& event) {
  return fmt::format("{} of {} bytes at {}", name(action_of(event.kind)), event.range.size,
                     event.range.address);
}

std::string text_of(const RecordedEvent& event) {
  return fmt::format("{} of {} bytes at {}", name(event.action), event.size, event.address);
}

class Replay {
 public:
  Replay(const RecordedTrace& trace, const ReplayOptions& options);

  ReplayReport run();

 private:
  using Events = std::span<const RecordedEvent>;

  void start_from_initial_state();
  std::size_t play_call(std::size_t first);
  bool releases_by_itself(const RecordedEvent& request, Events segments) const;
  void release(std::size_t first, Events expected);
  void allocate(const RecordedEvent& event, Events segments);
  void check_address(const RecordedEvent& event, const Block& block);
  void run_out_of_memory(const RecordedEvent& event, Events segments);
  void free(const RecordedEvent& event);
  void compare_log(std::size_t first, Events expected);
  void compare_final_state();
  void expect(Events segments);
  void disagree(std::size_t event, std::string recorded, std::string replica);

  const RecordedTrace& trace_;
  std::vector<SegmentEvent> log_;
  std::unique_ptr<Driver> driver_;
  RecordedDriver* recorded_ = nullptr;  ///< the driver, when addresses are the recorded ones
  CachingAllocator allocator_;
  std::unordered_map<Address, Block*> live_;  ///< by recorded address
  std::vector<Bytes>* block_sizes_;
  std::optional<Address> shift_;
  std::size_t at_ = 0;
  ReplayReport report_;
};

Replay::Replay(const RecordedTrace& trace, const ReplayOptions& options)
    : trace_(trace),
      driver_(options.placement ? make_driver(*options.placement)
                                : std::make_unique<RecordedDriver>(log_)),
      recorded_(options.placement ? nullptr : static_cast<RecordedDriver*>(driver_.get())),
      allocator_(*driver_, trace.config),
      block_sizes_(options.block_sizes) {
  if (block_sizes_) block_sizes_->assign(trace.events.size(), 0);
  allocator_.log_segments_to(&log_);
  driver_->set_memory(trace.memory);
}

void Replay::disagree(std::size_t event, std::string recorded, std::string replica) {
  if (!report_.disagreement)
    report_.disagreement = {event, std::move(recorded), std::move(replica)};
}

/// Placement rules depend on alignment, so there the addresses are absolute.
void Replay::start_from_initial_state() {
  const Address offset = recorded_ ? 0 : trace_.base;
  std::vector<InitialSegment> segments = trace_.initial;
  std::vector<Address> addresses;
  std::vector<ExpandableReservation> reservations = recorded_reservations(trace_);
  for (ExpandableReservation& reservation : reservations) reservation.range.address += offset;
  for (InitialSegment& segment : segments) {
    segment.range.address += offset;
    for (AddressRange& block : segment.blocks) {
      addresses.push_back(block.address);
      block.address += offset;
    }
  }
  const std::vector<Block*> blocks = allocator_.adopt(segments, reservations);
  for (std::size_t i = 0; i < blocks.size(); ++i) live_[addresses[i]] = blocks[i];
  if (recorded_ || !segments.empty()) shift_ = offset;
}

ReplayReport Replay::run() {
  start_from_initial_state();
  while (at_ < trace_.events.size() && !report_.disagreement) at_ = play_call(at_);
  report_.events = std::min(at_, trace_.events.size());
  if (recorded_ && !report_.disagreement) compare_final_state();
  report_.statistics = allocator_.statistics();
  return report_;
}

/// Releases before a request are either a call of empty_cache() or part of a retry. Both leave the
/// same state when everything cached goes; where only some of it may go, or the driver below knows
/// when the device is full, the request itself must cause them.
bool Replay::releases_by_itself(const RecordedEvent& request, Events segments) const {
  const bool releases_some =
      trace_.config.max_split_size != kUnlimited || trace_.config.garbage_collection_threshold > 0;
  if (!releases_some && (recorded_ || trace_.memory.total == kUnlimited)) return false;
  return request.action == TraceAction::oom || (!segments.empty() && !is_release(segments.back()));
}

/// One call of the allocator: the segment events that it caused come before the event that it is.
std::size_t Replay::play_call(std::size_t first) {
  const Events events(trace_.events);
  std::size_t end = first, released = first;
  while (end < events.size() && is_segment_event(events[end])) ++end;
  const bool is_call = end < events.size();
  if (!is_call || !releases_by_itself(events[end], events.subspan(first, end - first)))
    while (released < end && is_release(events[released])) ++released;
  const Events segments = events.subspan(released, end - released);
  report_.segment_events += end - first;
  at_ = end;
  if (released > first) release(first, events.subspan(first, released - first));
  if (!is_call && !segments.empty()) disagree(released, text_of(segments.front()), "nothing more");
  if (!is_call || report_.disagreement) return end;
  switch (const RecordedEvent& event = events[end]; event.action) {
    case TraceAction::alloc: allocate(event, segments); break;
    case TraceAction::oom: run_out_of_memory(event, segments); break;
    case TraceAction::free_completed: free(event); break;
    default: break;
  }
  return end + 1;
}

void Replay::expect(Events segments) {
  log_.clear();
  if (recorded_) recorded_->expect(segments);
}

/// What the allocator just did to the driver against what it was recorded to do, from event `first`
/// on.
void Replay::compare_log(std::size_t first, Events expected) {
  for (std::size_t i = 0; i < std::max(expected.size(), log_.size()); ++i) {
    if (i >= log_.size()) return disagree(first + i, text_of(expected[i]), "no such call");
    if (i >= expected.size()) return disagree(first + i, "no such call", text_of(log_[i]));
    const bool same = action_of(log_[i].kind) == expected[i].action &&
                      log_[i].range.size == expected[i].size &&
                      (!recorded_ || log_[i].range.address == expected[i].address);
    if (!same) return disagree(first + i, text_of(expected[i]), text_of(log_[i]));
  }
}

void Replay::release(std::size_t first, Events expected) {
  expect(expected);
  allocator_.empty_cache();
  compare_log(first, expected);
}

void Replay::allocate(const RecordedEvent& event, Events segments) {
  ++report_.allocs;
  expect(segments);
  Block* block = allocator_.malloc(event.size, event.stream);
  if (!block) {
    const Bytes segment = allocator_.failure() ? allocator_.failure()->segment : 0;
    return disagree(at_, text_of(event) + ", from cached memory",
                    fmt::format("no cached block fits, a segment of {} bytes is needed", segment));
  }
  if (log_.empty() && !segments.empty())
    return disagree(at_ - segments.size(), text_of(segments.front()),
                    fmt::format("the cached block at {} holds the request", block->address));
  compare_log(at_ - segments.size(), segments);
  check_address(event, *block);
  if (block_sizes_ && !report_.disagreement) (*block_sizes_)[at_] = block->size;
  if (!live_.emplace(event.address, block).second)
    disagree(at_, text_of(event) + ", which is in use", "no such block");
}

void Replay::check_address(const RecordedEvent& event, const Block& block) {
  if (!shift_) shift_ = block.address - event.address;
  if (block.address - event.address == *shift_) {
    ++report_.equal_addresses;
    return;
  }
  if (!report_.first_other_address) report_.first_other_address = at_;
  if (recorded_) disagree(at_, text_of(event), fmt::format("the block at {}", block.address));
}

/// With a placement rule and a device of unknown size: it was full at this moment.
void Replay::run_out_of_memory(const RecordedEvent& event, Events segments) {
  ++report_.ooms;
  expect(segments);
  const bool size_is_known = recorded_ || trace_.memory.total != kUnlimited;
  if (!size_is_known) driver_->set_memory({.total = driver_->used()});
  const Block* block = allocator_.malloc(event.size, event.stream);
  driver_->set_memory(trace_.memory);
  if (block) return disagree(at_, text_of(event), fmt::format("the block at {}", block->address));
  compare_log(at_ - segments.size(), segments);
}

void Replay::free(const RecordedEvent& event) {
  ++report_.frees;
  const auto found = live_.find(event.address);
  if (found == live_.end()) return disagree(at_, text_of(event), "no block in use there");
  expect({});
  allocator_.free(found->second);
  live_.erase(found);
}

void Replay::compare_final_state() {
  if (!trace_.final_segments) return;
  const std::vector<SegmentView> segments = allocator_.segments();
  const std::size_t end = trace_.events.size();
  for (std::size_t i = 0; i < std::max(segments.size(), trace_.final_segments->size()); ++i) {
    if (i >= segments.size() || i >= trace_.final_segments->size())
      return disagree(end, fmt::format("{} segments", trace_.final_segments->size()),
                      fmt::format("{} segments", segments.size()));
    const InitialSegment& recorded = (*trace_.final_segments)[i];
    std::vector<AddressRange> blocks;
    for (const Block* block : segments[i].blocks)
      if (block->allocated) blocks.push_back({block->address, block->size});
    if (recorded.range != segments[i].range || recorded.blocks != blocks)
      return disagree(end,
                      fmt::format("segment at {} with {} blocks in use", recorded.range.address,
                                  recorded.blocks.size()),
                      fmt::format("segment at {} with {}, or other sizes",
                                  segments[i].range.address, blocks.size()));
  }
}

}  // namespace

ReplayReport replay(const RecordedTrace& trace, const ReplayOptions& options) {
  return Replay(trace, options).run();
}

}  // namespace memtape
