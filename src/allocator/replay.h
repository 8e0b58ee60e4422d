// SPDX-License-Identifier: Apache-2.0
// replay: a recording played through the replica, call by call, until the first decision that
// differs. It is the proof of the replica: the recorded program's requests go in, and every segment
// and every address must come out again.
//
// With recorded addresses the driver's choices are given and all addresses must be equal. With a
// placement rule the driver is the replica's too, and every segment decision must be equal: which
// request needs one, of what size, what is released.
#pragma once

#include <optional>
#include <string>

#include "allocator/recorded_trace.h"

namespace memtape {

struct ReplayOptions {
  std::optional<DriverPlacement> placement;  ///< nothing: the recorded addresses
  /// By event: the size of the block that an alloc got, as far as the replica agrees; null if not
  /// wanted.
  std::vector<Bytes>* block_sizes = nullptr;
};

/// The first event at which recording and replica differ. `event` counts from 0, and equals the
/// number of events if only the final state differs.
struct Disagreement {
  std::size_t event = 0;
  std::string recorded, replica;
};

struct ReplayReport {
  std::size_t events = 0, allocs = 0, frees = 0, segment_events = 0, ooms = 0;
  std::size_t equal_addresses = 0;  ///< allocs at the recorded address, up to one common shift
  std::optional<std::size_t> first_other_address;
  Statistics statistics;  ///< at the end, or at the disagreement
  std::optional<Disagreement> disagreement;
};

ReplayReport replay(const RecordedTrace& trace, const ReplayOptions& options = {});

}  // namespace memtape
