// SPDX-License-Identifier: Apache-2.0
// A predicted tape beside a recorded one, event for event: the tool that finds the rule that is
// wrong. Allocations are compared by size, in order; the frees between two allocations as a set,
// since their order changes nothing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "formats/step_tape.h"
#include "tape/tape.h"

namespace memtape::report {

/// One allocation and what was freed just before it, by number within the step ("old": from before
/// it).
struct DiffEvent {
  std::vector<std::string> frees;
  Bytes bytes = 0;    ///< -1 for the end of the step
  std::string label;  ///< place, op and node
};

struct TapeDiff {
  std::vector<DiffEvent> predicted, recorded;
  std::size_t first = 0;      ///< index of the first difference, when there is one
  std::size_t differing = 0;  ///< how many events differ
  bool same() const { return differing == 0; }
};

/// Compares events [first, end) of `tape`, the measured step, with a recording of it.
TapeDiff compare_tapes(const Tape& tape, std::size_t first,
                       const std::vector<StepTapeEvent>& recorded);

/// The events around the first difference, both sides; or that there is none.
std::string text(const TapeDiff& diff, std::size_t context);

}  // namespace memtape::report
