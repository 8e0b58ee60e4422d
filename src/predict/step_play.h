// SPDX-License-Identifier: Apache-2.0
// StepPlay: the tape of a whole program after the allocator has played it, cut where the measured
// step begins.
#pragma once

#include <memory>
#include <vector>

#include "predict/train.h"
#include "timeline/play.h"

namespace memtape {

struct StepPlay {
  Timeline before;  ///< model building and the steps before the measured one
  Timeline step;    ///< the measured step
  Played played;
  Levels highest;  ///< over the whole program
  std::size_t first_event = 0;
};

/// The event at which step `step` begins.
std::size_t first_event_of_step(const Tape& tape, int step);

/// Plays `tape` on a device with `memory`; the measured step is `step`. An out-of-memory error ends
/// the play early. With `records` it keeps the levels after each event and the history of segments,
/// which pictures need.
StepPlay play_program(const Tape& tape, const DeviceSetup& device, const DeviceMemory& memory,
                      int step, bool records);

}  // namespace memtape
