// SPDX-License-Identifier: Apache-2.0
// A predicted tape compared with a recorded one, event by event: this tool finds the rule that is
// wrong. Allocations are compared by their sizes, in order. The frees between two allocations are
// compared as a set, because their order changes nothing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "formats/step_tape.h"
#include "tape/tape.h"

namespace memtape::report {

/// One allocation and the blocks that were freed just before it, named by their numbers within the
/// step; blocks from before the step are "old".
struct DiffEvent {
  std::vector<std::string> frees;
  Bytes bytes = 0;    ///< -1 stands for the end of the step
  std::string label;  ///< its place, op and node
};

struct TapeDiff {
  std::vector<DiffEvent> predicted, recorded;
  std::size_t first = 0;      ///< the index of the first difference, if there is one
  std::size_t differing = 0;  ///< how many events differ
  bool same() const { return differing == 0; }
};

/// Compares the events [first, end) of `tape`, which are the measured step, with a recording of
/// that step.
TapeDiff compare_tapes(const Tape& tape, std::size_t first,
                       const std::vector<StepTapeEvent>& recorded);

/// The events around the first difference on both sides, or a sentence that there is none.
std::string text(const TapeDiff& diff, std::size_t context);

}  // namespace memtape::report
