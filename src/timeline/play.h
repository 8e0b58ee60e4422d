// SPDX-License-Identifier: Apache-2.0
// play: a tape through an allocator. Played holds what the events so far left behind, so a program
// can be played piece by piece on the same allocator: build the model, then step after step.
//
//   Played played;
//   Timeline built = play(tape, allocator, played, {.to = first_step});
//   Timeline steps = play(tape, allocator, played, {.from = first_step});
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "allocator/caching_allocator.h"
#include "allocator/ideal_allocator.h"
#include "timeline/timeline.h"

namespace memtape {

struct PlayOptions {
  std::size_t from = 0;
  std::size_t to =
      std::numeric_limits<std::size_t>::max();  ///< half open; the tape's end when beyond it
  bool samples = false;
  bool segments = false;
};

/// What a tape's events became in the allocator, by BlockId, as far as they were played.
struct Played {
  BlockSizes sizes;                ///< size in the allocator; 0 for a request of zero bytes
  std::vector<Address> addresses;  ///< 0 for a request of zero bytes
  std::vector<Block*> blocks;      ///< null for a request of zero bytes; dangling once freed
};

/// Plays events [from, to). Each mark opens a window, whose peaks start at the current level, as
/// after torch.cuda.reset_peak_memory_stats(). Events before the first mark belong to a window of
/// the last mark before them. Stops at the first request that the device cannot serve.
Timeline play(const Tape& tape, CachingAllocator& allocator, Played& played,
              const PlayOptions& options = {});

/// The same with an allocator that takes exactly what is requested: `allocated` and `reserved`
/// equal `requested`.
Timeline play(const Tape& tape, IdealAllocator& allocator, const PlayOptions& options = {});

}  // namespace memtape
