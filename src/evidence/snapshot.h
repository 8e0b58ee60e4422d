// SPDX-License-Identifier: Apache-2.0
// MemorySnapshot: what torch.cuda.memory._snapshot() holds about all devices: the recorded events,
// the segments at the end, and the Python stacks, each of which is kept once.
//
//     device_traces  [[alloc, free_requested, free_completed, segment_alloc, ..., oom], ...]
//     segments       [device, address, size, [block, block, ...]]
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/recorded_trace.h"

namespace memtape {

using TextId = std::uint32_t;
using FrameId = std::uint32_t;
using StackId = std::uint32_t;  ///< 0 stands for no stack

struct StackFrame {
  TextId file = 0, function = 0;
  std::int32_t line = 0;
  bool operator==(const StackFrame&) const = default;
};

/// Texts, frames and stacks, each of which has a number. Text 0 is "" and stack 0 is empty. Frames
/// are in order from the innermost.
struct Stacks {
  std::deque<std::string> texts{""};  ///< a deque, so that views of its texts stay valid
  std::vector<StackFrame> frames;
  std::vector<std::vector<FrameId>> stacks{{}};

  std::string_view text(TextId id) const { return texts[id]; }
};

/// One entry of a device's trace. For an out-of-memory event, `address` is the free memory of the
/// device.
struct SnapshotEvent {
  Address address = 0;
  Bytes size = 0;
  std::int64_t time_us = 0;
  StackId stack = 0;
  std::uint16_t stream = 0;  ///< an index into MemorySnapshot::streams
  TraceAction action = TraceAction::remark;
  std::uint8_t category = 0;  ///< 0, or 1 + a Category, which memtape's own snapshots contain
};

struct SnapshotBlock {
  enum class State : std::uint8_t { inactive, allocated, pending_free };
  Address address = 0;
  Bytes size = 0, requested = 0;
  StackId stack = 0;
  State state = State::inactive;
  std::uint8_t category = 0;
};

struct SnapshotSegment {
  int device = 0;
  Address address = 0;
  Bytes size = 0;
  std::int64_t stream = 0;
  bool is_small = false, is_expandable = false;
  bool in_private_pool = false;  ///< the pool of a CUDA graph or of a MemPool
  std::vector<SnapshotBlock> blocks;
};

/// A span that the profiler or the optimizer marked ("Optimizer.step#AdamW.step").
struct SnapshotAnnotation {
  TextId name = 0;
  std::int64_t time_us = 0;
  int device = 0;
  bool is_start = false;
};

struct MemorySnapshot {
  Stacks stacks;
  std::vector<std::int64_t> streams;  ///< handles, in the order in which they appear
  std::vector<SnapshotEvent> events;  ///< those of all devices, one device after the other
  /// For each device, its first event and one behind its last.
  std::vector<std::pair<std::size_t, std::size_t>> traces;
  std::vector<SnapshotSegment> segments;
  /// Only memtape's own snapshots say what there was before the first event, and make it in as many
  /// events at the front, for viewers.
  std::vector<SnapshotSegment> initial;
  std::size_t initial_events = 0;
  std::vector<SnapshotAnnotation> annotations;
  std::string alloc_conf;  ///< the value of the variable that its release reads
  std::string settings_variable = "PYTORCH_CUDA_ALLOC_CONF";  ///< that variable
  bool expandable_segments = false;
  bool has_segments = false;          ///< the state at the end is known
  bool is_complete = true;            ///< the file was read to its end
  std::vector<std::string> warnings;  ///< what could not be read
};

}  // namespace memtape
