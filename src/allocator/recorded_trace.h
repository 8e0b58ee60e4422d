// SPDX-License-Identifier: Apache-2.0
// RecordedTrace: what PyTorch's allocator itself wrote down
// (torch.cuda.memory._record_memory_history): its events in order, the state before the first and
// after the last. Addresses are relative to `base`; formats/trace.h reads the files.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/caching_allocator.h"

namespace memtape {

/// Under the names of PyTorch's trace entries; `remark` stands for those without effect (snapshot,
/// user_defined, annotate).
enum class TraceAction : std::uint8_t {
  alloc,
  free_requested,
  free_completed,
  segment_alloc,
  segment_free,
  segment_map,
  segment_unmap,
  oom,
  remark,
};
inline constexpr std::array<std::string_view, 9> kTraceActionNames{
    "alloc",        "free_requested", "free_completed", "segment_alloc",
    "segment_free", "segment_map",    "segment_unmap",  "oom",
    "remark"};

constexpr std::string_view name(TraceAction action) {
  return kTraceActionNames[static_cast<std::size_t>(action)];
}

/// `size` is the request for alloc and free, the rounded request for oom, and the size of the
/// segment or mapped stretch for segment_*.
struct RecordedEvent {
  TraceAction action = TraceAction::remark;
  StreamId stream = 0;
  Address address = 0;
  Bytes size = 0;
};

struct RecordedTrace {
  std::string name, torch;
  Address base = 0;
  AllocatorConfig config;
  DeviceMemory memory;  ///< unlimited where the recording does not say how large the device was
  std::vector<RecordedEvent> events;
  std::vector<InitialSegment> initial;
  std::optional<std::vector<InitialSegment>>
      final_segments;  ///< nothing where the recording has no final state
};

}  // namespace memtape
