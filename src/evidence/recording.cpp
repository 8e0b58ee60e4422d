// SPDX-License-Identifier: Apache-2.0
#include "evidence/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/text.h"

namespace memtape {
namespace {

constexpr Bytes kMostRecordingBytes = Bytes{1} << 47;

/// The state of a device, walked from its last event back to its first.
class BackwardState {
 public:
  BackwardState(const MemorySnapshot& snapshot, int device, const AllocatorConfig& config)
      : config_(config) {
    for (const SnapshotSegment& s : snapshot.segments) {
      if (s.device != device) continue;
      segments_[s.address] = {s.size, s.stream, s.is_small, s.is_expandable};
      for (const SnapshotBlock& b : s.blocks)
        if (b.state != SnapshotBlock::State::inactive)
          blocks_[b.address] = {{b.address, b.size}, b.requested, b.stack, b.category};
    }
  }

  void undo(const SnapshotEvent& event, std::int64_t stream) {
    switch (event.action) {
      case TraceAction::alloc:
        if (blocks_.erase(event.address) == 0) ++contradictions_;
        break;
      case TraceAction::free_completed:
        if (!blocks_
                 .emplace(event.address, OlderBlock{{event.address, config_.round_size(event.size)},
                                                    event.size,
                                                    event.stack,
                                                    event.category})
                 .second)
          ++contradictions_;
        break;
      case TraceAction::segment_alloc:
        if (segments_.erase(event.address) == 0) ++contradictions_;
        break;
      case TraceAction::segment_free:
        segments_[event.address] = {event.size, stream, event.size == kSmallBuffer, false};
        break;
      case TraceAction::segment_map: cut(event.address, event.size); break;
      case TraceAction::segment_unmap: join(event.address, event.size, stream); break;
      default: break;
    }
  }

  std::size_t contradictions() const { return contradictions_; }

  /// Segments with their blocks; a block that is in none is dropped.
  std::vector<std::pair<InitialSegment, std::int64_t>> segments(std::vector<OlderBlock>& older) {
    std::vector<OlderBlock> blocks;
    for (auto& [address, block] : blocks_) blocks.push_back(block);
    std::vector<std::pair<InitialSegment, std::int64_t>> made;
    auto at = blocks.begin();
    for (const auto& [address, s] : segments_) {
      InitialSegment segment{{address, s.size}, 0, s.is_small, s.is_expandable, {}};
      for (; at != blocks.end() && at->range.address < segment.range.end(); ++at)
        if (at->range.address >= address && at->range.end() <= segment.range.end() &&
            (segment.blocks.empty() || at->range.address >= segment.blocks.back().end())) {
          segment.blocks.push_back(at->range);
          older.push_back(*at);
        }
      add_tails(segment, older);
      made.emplace_back(segment, s.stream);
    }
    return made;
  }

 private:
  struct Segment {
    Bytes size = 0;
    std::int64_t stream = 0;
    bool is_small = false, is_expandable = false;
  };

  /// A request of the large pool that leaves at most kSmallSize keeps it, so a gap of that size
  /// belongs to the block before it (should_split of CUDACachingAllocator.cpp).
  static void add_tails(InitialSegment& segment, std::vector<OlderBlock>& older) {
    if (segment.is_small || segment.is_expandable) return;
    const std::size_t first = older.size() - segment.blocks.size();
    for (std::size_t i = 0; i < segment.blocks.size(); ++i) {
      AddressRange& block = segment.blocks[i];
      const Address next =
          i + 1 < segment.blocks.size() ? segment.blocks[i + 1].address : segment.range.end();
      if (next - block.end() > 0 && next - block.end() <= kSmallSize)
        block.size = next - block.address;
      older[first + i].range = block;
    }
  }

  std::map<Address, Segment>::iterator holding(Address address) {
    auto at = segments_.upper_bound(address);
    if (at == segments_.begin()) return segments_.end();
    --at;
    return address < at->first + at->second.size ? at : segments_.end();
  }

  void cut(Address address, Bytes size) {
    const auto at = holding(address);
    if (at == segments_.end() || address + size > at->first + at->second.size) {
      ++contradictions_;
      return;
    }
    const Segment whole = at->second;
    const Address begin = at->first, end = begin + whole.size;
    segments_.erase(at);
    if (begin < address) segments_[begin] = with_size(whole, address - begin);
    if (address + size < end) segments_[address + size] = with_size(whole, end - address - size);
  }

  void join(Address address, Bytes size, std::int64_t stream) {
    Segment made{size, stream, size % kLargeBuffer != 0, true};
    Address begin = address;
    if (const auto next = segments_.find(address + size);
        next != segments_.end() && next->second.is_expandable) {
      made = with_size(next->second, next->second.size + size);
      segments_.erase(next);
    }
    if (const auto before = holding(address - 1);
        before != segments_.end() && before->second.is_expandable) {
      begin = before->first;
      made = with_size(before->second, before->second.size + made.size);
      segments_.erase(before);
    }
    segments_[begin] = made;
  }

  static Segment with_size(Segment segment, Bytes size) {
    segment.size = size;
    return segment;
  }

  const AllocatorConfig& config_;
  std::map<Address, Segment> segments_;
  std::map<Address, OlderBlock> blocks_;
  std::size_t contradictions_ = 0;
};

class RecordingMaker {
 public:
  RecordingMaker(MemorySnapshot& snapshot, int device, const std::string& name)
      : snapshot_(snapshot), device_(device) {
    made_.name = name;
    made_.device = device;
    made_.is_cut = !snapshot.is_complete || !snapshot.has_segments;
    if (static_cast<std::size_t>(device) < snapshot.traces.size())
      std::tie(first_, last_) = snapshot.traces[static_cast<std::size_t>(device)];
    states_start_ = device == 0 && !made_.is_cut && !snapshot.initial.empty() &&
                    snapshot.initial_events <= last_ - first_;
    if (states_start_) first_ += snapshot.initial_events;
  }

  Recording make() {
    configure();
    number_streams();
    find_base();
    rebuild();
    take_events();
    take_final_state();
    for (const SnapshotAnnotation& a : snapshot_.annotations)
      if (a.device == device_ || a.device < 0) made_.annotations.push_back(a);
    std::ranges::stable_sort(made_.annotations, {}, &SnapshotAnnotation::time_us);
    return std::move(made_);
  }

 private:
  void configure() {
    made_.settings_variable = snapshot_.settings_variable;
    if (const auto parsed = AllocatorConfig::parse(snapshot_.alloc_conf))
      made_.trace.config = *parsed;
    else if (!snapshot_.alloc_conf.empty())
      made_.warnings.push_back(
          fmt::format("its allocator settings are not understood: {}", parsed.error().line()));
    if (snapshot_.expandable_segments) made_.trace.config.expandable_segments = true;
    made_.trace.name = made_.name;
  }

  void number_streams() {
    for (std::size_t i = first_; i < last_; ++i) note(handle_of(snapshot_.events[i]));
    for (const auto* segments : {&snapshot_.segments, &snapshot_.initial})
      for (const SnapshotSegment& s : *segments)
        if (s.device == device_) note(s.stream);
    std::ranges::sort(handles_);
    if (handles_.size() > 255) handles_.resize(255);
  }
  std::int64_t handle_of(const SnapshotEvent& event) const {
    return event.stream < snapshot_.streams.size() ? snapshot_.streams[event.stream] : 0;
  }
  void note(std::int64_t handle) {
    if (!handles_.empty() && handles_.back() == handle) return;
    if (std::ranges::find(handles_, handle) == handles_.end()) handles_.push_back(handle);
  }
  StreamId id_of(std::int64_t handle) const {
    const auto at = std::ranges::lower_bound(handles_, handle);
    return static_cast<StreamId>(at == handles_.end() ? 0 : at - handles_.begin());
  }

  static bool has_address(const SnapshotEvent& event) {
    return event.action < TraceAction::oom && event.size > 0 && event.size < kMostRecordingBytes &&
           event.address >= 0 && event.address < Address{1} << 60;
  }

  void find_base() {
    Address least = Address{1} << 60;
    for (std::size_t i = first_; i < last_; ++i)
      if (has_address(snapshot_.events[i])) least = std::min(least, snapshot_.events[i].address);
    for (const auto* segments : {&snapshot_.segments, &snapshot_.initial})
      for (const SnapshotSegment& s : *segments)
        if (s.device == device_) least = std::min(least, s.address);
    base_ = least == Address{1} << 60 ? 0 : least / kDriverPage * kDriverPage;
    made_.trace.base = base_;
  }

  void rebuild() {
    if (made_.is_cut) return rebuild_forwards();
    if (states_start_) return take_start();
    BackwardState state(snapshot_, device_, made_.trace.config);
    for (std::size_t i = last_; i-- > first_;)
      if (has_address(snapshot_.events[i]))
        state.undo(snapshot_.events[i], handle_of(snapshot_.events[i]));
    for (auto& [segment, handle] : state.segments(made_.older)) add_initial(segment, handle);
    for (OlderBlock& block : made_.older) block.range.address -= base_;
    if (state.contradictions() > 0)
      made_.warnings.push_back(
          fmt::format("{} events contradict the state at the end: the recording has gaps",
                      with_commas(static_cast<std::int64_t>(state.contradictions()))));
  }

  void take_start() {
    for (const SnapshotSegment& s : snapshot_.initial) {
      InitialSegment segment{{s.address, s.size}, 0, s.is_small, s.is_expandable, {}};
      for (const SnapshotBlock& b : s.blocks) {
        if (b.state == SnapshotBlock::State::inactive) continue;
        segment.blocks.push_back({b.address, b.size});
        made_.older.push_back({{b.address - base_, b.size}, b.requested, b.stack, b.category});
      }
      add_initial(std::move(segment), s.stream);
    }
  }

  void add_initial(InitialSegment segment, std::int64_t handle) {
    segment.range.address -= base_;
    for (AddressRange& block : segment.blocks) block.address -= base_;
    segment.stream = id_of(handle);
    made_.trace.initial.push_back(std::move(segment));
  }

  /// Without a state at the end: what is freed without having been allocated was there before.
  void rebuild_forwards() {
    std::unordered_map<Address, bool> known;
    for (std::size_t i = first_; i < last_; ++i) {
      const SnapshotEvent& event = snapshot_.events[i];
      if (!has_address(event)) continue;
      if (event.action == TraceAction::alloc) known[event.address] = true;
      if (event.action != TraceAction::free_completed) continue;
      if (known.emplace(event.address, true).second)
        made_.older.push_back({{event.address - base_, made_.trace.config.round_size(event.size)},
                               event.size,
                               event.stack,
                               event.category});
    }
  }

  void take_events() {
    const std::size_t count = last_ - first_;
    made_.trace.events.reserve(count);
    made_.event_stacks.reserve(count);
    made_.times_us.reserve(count);
    bool has_categories = false;
    std::size_t nonsense = 0;
    for (std::size_t i = first_; i < last_; ++i) {
      const SnapshotEvent& event = snapshot_.events[i];
      const bool is_oom = event.action == TraceAction::oom;
      if (event.action != TraceAction::remark && !is_oom && !has_address(event)) {
        ++nonsense;
        continue;
      }
      made_.trace.events.push_back({event.action, id_of(handle_of(event)),
                                    is_oom ? event.address : event.address - base_, event.size});
      made_.event_stacks.push_back(event.stack);
      made_.times_us.push_back(event.time_us);
      made_.event_categories.push_back(event.category);
      has_categories |= event.category != 0;
    }
    if (!has_categories) made_.event_categories = {};
    if (nonsense > 0)
      made_.warnings.push_back(fmt::format("{} events without a sensible size are left out",
                                           with_commas(static_cast<std::int64_t>(nonsense))));
  }

  void take_final_state() {
    if (made_.is_cut) return;
    made_.trace.final_segments.emplace();
    for (const SnapshotSegment& s : snapshot_.segments) {
      if (s.device != device_) continue;
      made_.has_private_pools |= s.in_private_pool;
      InitialSegment segment{
          {s.address - base_, s.size}, id_of(s.stream), s.is_small, s.is_expandable, {}};
      for (const SnapshotBlock& b : s.blocks)
        if (b.state != SnapshotBlock::State::inactive)
          segment.blocks.push_back({b.address - base_, b.size});
      made_.trace.final_segments->push_back(std::move(segment));
    }
  }

  MemorySnapshot& snapshot_;
  int device_;
  bool states_start_ = false;  ///< the state before the first event need not be found
  std::size_t first_ = 0, last_ = 0;
  Address base_ = 0;
  std::vector<std::int64_t> handles_;
  Recording made_;
};

}  // namespace

std::vector<Recording> recordings_of(MemorySnapshot snapshot, const std::string& name) {
  const auto stacks = std::make_shared<const Stacks>(std::move(snapshot.stacks));
  int devices = static_cast<int>(snapshot.traces.size());
  for (const SnapshotSegment& s : snapshot.segments) devices = std::max(devices, s.device + 1);
  std::vector<Recording> made;
  for (int device = 0; device < devices; ++device) {
    Recording recording = RecordingMaker(snapshot, device, name).make();
    if (recording.trace.events.empty() && recording.trace.initial.empty()) continue;
    recording.stacks = stacks;
    made.push_back(std::move(recording));
  }
  if (!made.empty())
    made.front().warnings.insert(made.front().warnings.begin(), snapshot.warnings.begin(),
                                 snapshot.warnings.end());
  return made;
}

Recording recording_of(RecordedTrace trace) {
  Recording made;
  made.name = trace.name;
  for (const InitialSegment& segment : trace.initial)
    for (const AddressRange& block : segment.blocks)
      made.older.push_back({block, block.size, 0, 0});
  made.trace = std::move(trace);
  return made;
}

}  // namespace memtape
