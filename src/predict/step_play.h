// SPDX-License-Identifier: Apache-2.0
// StepPlay: a whole program's tape through the allocator, cut where the measured step begins.
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

/// Plays `tape` on a device with `memory`; the measured step is `step`. An out-of-memory ends it
/// early. `records` keeps levels after each event and the segments' history, for pictures.
StepPlay play_program(const Tape& tape, const DeviceSetup& device, const DeviceMemory& memory,
                      int step, bool records);

}  // namespace memtape
