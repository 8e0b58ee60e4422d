// SPDX-License-Identifier: Apache-2.0
// A steady stretch of tape: one that frees exactly what it allocates. A program that comes back to
// the same state does the same again, so the next step need not be run: the stretch is written down
// once more with blocks of its own.
#pragma once

#include <cstddef>

#include "tape/tape.h"

namespace memtape {

/// Whether the events from `first` on free every block they allocate, and no other.
bool is_steady(const Tape& tape, std::size_t first);

/// Appends the events from `first` on once more, as step `step`. The stretch must be steady.
void append_again(Tape& tape, std::size_t first, int step);

}  // namespace memtape
