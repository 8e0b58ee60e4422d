// SPDX-License-Identifier: Apache-2.0
#include "evidence/snapshot_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "evidence/pickle_machine.h"

namespace memtape {
namespace {

using SnapshotKind = PickleValue::Kind;

constexpr std::string_view kExpected = "a dict with \"segments\" and \"device_traces\"";
constexpr int kMostDevices = 1024;
constexpr Bytes kMostSnapshotBytes = Bytes{1} << 47;

class SnapshotReader {
 public:
  SnapshotReader(PickleObjects& objects, MemorySnapshot& snapshot)
      : objects_(objects), snapshot_(snapshot) {}

  Result<void> read(PickleValue top) {
    PickleValue segments = top;
    if (top.is(SnapshotKind::dict)) {
      segments = objects_.at(top, "segments");
      if (!segments.is(SnapshotKind::list) &&
          !objects_.at(top, "device_traces").is(SnapshotKind::list))
        return memtape::bad_input("is not a memory snapshot", "pickle", std::string(kExpected));
      read_settings(objects_.at(top, "allocator_settings"));
      read_annotations(objects_.at(top, "external_annotations"));
      read_traces(objects_.at(top, "device_traces"));
      read_segments(objects_.at(top, "initial_segments"), snapshot_.initial);
      snapshot_.initial_events = static_cast<std::size_t>(
          std::max<std::int64_t>(0, objects_.number_of(objects_.at(top, "initial_events"))));
    } else if (!top.is(SnapshotKind::list)) {
      return memtape::bad_input("is not a memory snapshot", "pickle", std::string(kExpected));
    }
    snapshot_.has_segments = segments.is(SnapshotKind::list);
    read_segments(segments, snapshot_.segments);
    take_over();
    return {};
  }

 private:
  void read_settings(PickleValue settings) {
    if (objects_.at(settings, "PYTORCH_ALLOC_CONF").is(SnapshotKind::text))
      snapshot_.settings_variable = "PYTORCH_ALLOC_CONF";
    snapshot_.alloc_conf = objects_.text_of(objects_.at(settings, snapshot_.settings_variable));
    snapshot_.expandable_segments =
        objects_.number_of(objects_.at(settings, "expandable_segments")) != 0;
  }

  void read_annotations(PickleValue list) {
    for (const PickleValue& item : objects_.items(list)) {
      const PickleValue name = objects_.at(item, "name");
      if (!name.is(SnapshotKind::text)) continue;
      snapshot_.annotations.push_back(
          {.name = static_cast<TextId>(name.index()),
           .time_us = objects_.number_of(objects_.at(item, "time_us")),
           .device = static_cast<int>(objects_.number_of(objects_.at(item, "device"))),
           .is_start = objects_.text_of(objects_.at(item, "stage")) == "START"});
    }
  }

  void read_traces(PickleValue traces) {
    for (const PickleValue& trace : objects_.items(traces)) {
      if (!trace.is(SnapshotKind::list)) continue;
      if (snapshot_.traces.size() >= kMostDevices) break;
      snapshot_.traces.push_back(events_of(trace));
    }
  }

  /// The trace's events as a range; entries that are none (the last of a file that broke off) are
  /// left out with what follows them.
  std::pair<std::size_t, std::size_t> events_of(PickleValue trace) {
    if (const auto range = objects_.events_of(trace)) return *range;
    std::pair<std::size_t, std::size_t> range{0, 0};
    for (const PickleValue& item : objects_.items(trace)) {
      const PickleValue event = objects_.resolved(item);
      if (!event.is(SnapshotKind::event)) break;
      if (range.first == range.second) range = {event.index(), event.index()};
      if (event.index() != range.second) break;
      ++range.second;
    }
    return range;
  }

  void read_segments(PickleValue list, std::vector<SnapshotSegment>& into) {
    for (const PickleValue& item : objects_.items(list)) {
      SnapshotSegment segment;
      segment.device = static_cast<int>(objects_.number_of(objects_.at(item, "device")));
      segment.address = objects_.number_of(objects_.at(item, "address"));
      segment.size = objects_.number_of(objects_.at(item, "total_size"));
      if (segment.size <= 0 || segment.size > kMostSnapshotBytes || segment.address < 0 ||
          segment.device < 0 || segment.device >= kMostDevices) {
        ++unread_segments_;
        continue;
      }
      segment.stream = objects_.number_of(objects_.at(item, "stream"));
      segment.is_small = objects_.text_of(objects_.at(item, "segment_type")) == "small";
      segment.is_expandable = objects_.number_of(objects_.at(item, "is_expandable")) != 0;
      for (const PickleValue& part : objects_.items(objects_.at(item, "segment_pool_id")))
        segment.in_private_pool |= objects_.number_of(part) != 0;
      read_blocks(objects_.at(item, "blocks"), segment);
      into.push_back(std::move(segment));
    }
    std::ranges::stable_sort(
        into, {}, [](const SnapshotSegment& s) { return std::pair(s.device, s.address); });
  }

  /// torch 2.0 says no addresses of blocks: they lie one behind the other.
  void read_blocks(PickleValue list, SnapshotSegment& segment) {
    Address at = segment.address;
    for (const PickleValue& item : objects_.items(list)) {
      const PickleValue value = objects_.resolved(item);
      if (!value.is(SnapshotKind::block)) continue;
      SnapshotBlock block = objects_.blocks()[value.index()];
      if (block.address < 0) block.address = at;
      const bool fits = block.size > 0 && block.size <= kMostSnapshotBytes && block.address >= at &&
                        block.address + block.size <= segment.address + segment.size;
      if (!fits) {
        ++unread_blocks_;
        continue;
      }
      at = block.address + block.size;
      segment.blocks.push_back(block);
    }
  }

  void take_over() {
    const auto say = [&](std::size_t count, std::string_view what) {
      if (count > 0)
        snapshot_.warnings.push_back(
            fmt::format("{} {}", with_commas(static_cast<std::int64_t>(count)), what));
    };
    say(unread_segments_, "segments without a sensible size are left out");
    say(unread_blocks_, "blocks that do not lie in their segment are left out");
    say(objects_.unknown_actions(), "events of an unknown kind are left out");
    snapshot_.events = std::move(objects_.events());
    snapshot_.stacks = std::move(objects_.stacks());
    snapshot_.streams = std::move(objects_.streams());
  }

  PickleObjects& objects_;
  MemorySnapshot& snapshot_;
  std::size_t unread_segments_ = 0, unread_blocks_ = 0;
};

}  // namespace

Result<MemorySnapshot> read_snapshot(ByteStream& stream) {
  PickleObjects objects;
  PickleMachine machine(stream, objects);
  const Result<PickleEnd> end = machine.run();
  if (!end) return tl::unexpected(end.error());
  MemorySnapshot snapshot;
  const Result<void> read = SnapshotReader(objects, snapshot).read(end->value);
  if (!read && !end->complete)
    return bad_input("ends before anything can be told", fmt::format("byte {}", end->bytes),
                     "a snapshot that was written to its end");
  if (!read) return tl::unexpected(read.error());
  snapshot.is_complete = end->complete;
  if (!end->complete)
    snapshot.warnings.push_back(
        fmt::format("the file ends early, after {} bytes: what follows is read from what is there",
                    with_commas(static_cast<std::int64_t>(end->bytes))));
  return snapshot;
}

}  // namespace memtape
