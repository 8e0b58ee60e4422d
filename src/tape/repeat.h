// SPDX-License-Identifier: Apache-2.0
// A steady stretch of tape: one that frees exactly what it allocates. A program that comes back to
// the same state does the same again, so the next step need not be run: the stretch is written down
// once more with blocks of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "tape/tape.h"

namespace memtape {

/// Whether the events from `first` on free every block they allocate, and no other.
bool is_steady(const Tape& tape, std::size_t first);

/// Appends the events from `first` on once more, as step `step`. The stretch must be steady.
void append_again(Tape& tape, std::size_t first, int step);

/// Runs `steps` steps of a program that writes `tape`, each by its number, until one says false: it
/// failed. The last is not run where the one before it was steady: it is appended again.
void run_steps(Tape& tape, int steps, const std::function<bool(int step)>& run_step);

/// What one step leaves to the next, which frees it and leaves the same of its own: the last
/// message of another stage, gradients that go when the next step begins. Pairs of a block that the
/// last step took over and the one that it leaves in its place, in order.
using Handover = std::vector<std::pair<BlockId, BlockId>>;

/// The handover of the step from `second` on, which follows the one from `first` on. None where
/// what it frees of the step before differs in number or size from what it leaves, or where it
/// frees older blocks. Nothing is left of a steady stretch: its handover is empty.
std::optional<Handover> handover(const Tape& tape, std::size_t first, std::size_t second);

/// Events [from, to) of a tape.
struct EventRange {
  std::size_t from = 0, to = 0;
};

/// Appends the stretch once more, as step `step`, which takes over what `given` says.
void append_again(Tape& tape, const EventRange& stretch, int step, const Handover& given);

}  // namespace memtape
