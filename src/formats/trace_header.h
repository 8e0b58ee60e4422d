// SPDX-License-Identifier: Apache-2.0
// TraceHeader: the first line of a trace: the settings, and the states before and after its events.
// Stream handles become StreamIds in ascending order, which is the order in which the allocator
// releases their blocks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/recorded_trace.h"
#include "base/result.h"

namespace memtape {

inline constexpr Bytes kMostTraceBytes = Bytes{1} << 47;

struct TraceHeader {
  /// A segment as it is written, with handles as its streams.
  struct Segment {
    InitialSegment segment;
    std::int64_t stream = 0;
  };

  std::string name, torch;
  Address base = 0;
  AllocatorConfig config;
  DeviceMemory memory;
  std::optional<std::int64_t> events;
  std::vector<Segment> initial;
  std::optional<std::vector<Segment>> final_segments;

  void add_stream(std::int64_t handle);
  StreamId stream_id(std::int64_t handle) const;
  /// The trace without its events. All streams must be known.
  Result<RecordedTrace> trace() const;

 private:
  std::vector<InitialSegment> with_stream_ids(const std::vector<Segment>& segments) const;

  std::vector<std::int64_t> streams_;  ///< in ascending order
};

Result<TraceHeader> parse_trace_header(std::string_view line);

}  // namespace memtape
