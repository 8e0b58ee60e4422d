// SPDX-License-Identifier: Apache-2.0
// Held: what the memory of a recording held, and when: the life of every block, the levels after
// each event, the peak, and what was alive at any moment. The sizes of blocks come from the replica
// of the allocator if it agrees with the recording in every event, which makes `allocated` exact.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "evidence/recording.h"
#include "tape/category.h"
#include "timeline/timeline.h"

namespace memtape {

inline constexpr std::uint32_t kAlways = std::numeric_limits<std::uint32_t>::max();

/// A block lives from the event that allocated it up to the event that freed it. It starts at 0
/// with `is_older` if it is from before the first event, and ends at kAlways if it outlives the
/// recording.
struct BlockLife {
  Address address = 0;
  Bytes requested = 0, size = 0;
  std::uint32_t born = 0, died = kAlways;
  StackId stack = 0;
  std::uint8_t category = 0;  ///< 0 if unknown, else 1 + Category
  StreamId stream = 0;
  bool is_older = false;

  bool alive_after(std::uint32_t event) const {
    return (is_older || born <= event) && event < died;
  }
};

struct HeldMoment {
  std::uint32_t event = 0;  ///< the last event before it
  Levels levels;
  bool is_start = false;  ///< it is the state before the first event
};

/// A request that the device could not serve.
struct HeldOom {
  std::uint32_t event = 0;
  Bytes requested = 0, device_free = 0;
  Levels levels;
};

struct Held {
  std::vector<BlockLife> lives;  ///< in the order of their allocation, older ones first
  HeldMoment start, peak, peak_reserved, end;
  std::vector<HeldOom> ooms;
  bool is_exact = false;  ///< the replica agrees with every event
  std::string not_exact;  ///< why it does not agree
  bool has_events = false;

  std::vector<const BlockLife*> alive_at(const HeldMoment& moment) const;
};

Held held_of(const Recording& recording);

/// By how much an event changes the reserved bytes.
Bytes change_of_reserved(const RecordedEvent& event);

/// The levels after every `every`-th event and after the last one, which give a picture of the
/// whole.
std::vector<HeldMoment> levels_of(const Recording& recording, const Held& held, std::size_t most);

/// The segments at a moment.
std::vector<InitialSegment> segments_at(const Recording& recording, const HeldMoment& moment);

}  // namespace memtape
