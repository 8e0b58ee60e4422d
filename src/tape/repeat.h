// SPDX-License-Identifier: Apache-2.0
// Repeats of a step. A stretch of tape is steady if it frees exactly what it allocates. A program
// that returns to the same state does the same again, so its next step need not run: the stretch is
// appended once more with new blocks.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "tape/tape.h"

namespace memtape {

/// Whether the events from `first` on free every block that they allocate, and no other block.
bool is_steady(const Tape& tape, std::size_t first);

/// Appends the events from `first` on once more, as step `step`. The stretch must be steady.
void append_again(Tape& tape, std::size_t first, int step);

/// Runs `steps` steps of a program that writes `tape`; each gets its number. It stops at the first
/// step that returns false, which means that the step failed, or when nobody waits for the result
/// any more. If the step before the last was steady, the last is appended and not run.
void run_steps(Tape& tape, int steps, const std::function<bool(int step)>& run_step);

/// Blocks that outlive their step: the next step frees them and leaves equal ones of its own (the
/// last pipeline message, gradients freed by zero_grad). Each pair holds a block that the last step
/// took over and the one that it leaves in its place, in order.
using Handover = std::vector<std::pair<BlockId, BlockId>>;

/// The handover of the step that begins at `second`, after the one that begins at `first`. Empty
/// optional if the blocks it frees of the earlier step differ in number or size from those it
/// leaves, or if it frees older blocks. A steady stretch leaves nothing, so its handover has no
/// pairs.
std::optional<Handover> handover(const Tape& tape, std::size_t first, std::size_t second);

/// Events [from, to) of a tape.
struct EventRange {
  std::size_t from = 0, to = 0;
};

/// Appends the stretch once more, as step `step`, which takes over the blocks of `given`.
void append_again(Tape& tape, const EventRange& stretch, int step, const Handover& given);

}  // namespace memtape
