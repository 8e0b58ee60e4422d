// SPDX-License-Identifier: Apache-2.0
// Recording: what the allocator of one device did, with the Python stack of each event. It is one
// device of a snapshot, or a trace file, which has no stacks. The state before the first event is
// computed backwards from the state after the last, as PyTorch's own viewer does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "allocator/recorded_trace.h"
#include "evidence/snapshot.h"

namespace memtape {

/// What is known of a block that existed before the first event.
struct OlderBlock {
  AddressRange range;
  Bytes requested = 0;
  StackId stack = 0;
  std::uint8_t category = 0;
};

struct Recording {
  std::string name;
  int device = 0;
  RecordedTrace trace;
  std::shared_ptr<const Stacks> stacks = std::make_shared<Stacks>();
  std::vector<StackId> event_stacks;   ///< for each event; empty if none are known
  std::vector<std::int64_t> times_us;  ///< for each event; empty if unknown
  /// For each event, 0 or 1 + Category; empty if there are none.
  std::vector<std::uint8_t> event_categories;
  std::vector<OlderBlock> older;                ///< in the order of the blocks of trace.initial
  std::vector<SnapshotAnnotation> annotations;  ///< those of this device, in the order of time
  std::vector<std::string> warnings;
  /// The state before the first event is not known, because the file of a snapshot ended early.
  bool is_cut = false;
  bool has_private_pools = false;
  std::string settings_variable = "PYTORCH_CUDA_ALLOC_CONF";  ///< which its release reads

  StackId stack_of(std::size_t event) const {
    return event_stacks.empty() ? 0 : event_stacks[event];
  }
};

/// One recording for each device about which the snapshot says anything. The snapshot's events are
/// moved into them.
std::vector<Recording> recordings_of(MemorySnapshot snapshot, const std::string& name);

/// A trace file as a recording.
Recording recording_of(RecordedTrace trace);

}  // namespace memtape
