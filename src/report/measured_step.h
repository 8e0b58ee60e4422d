// SPDX-License-Identifier: Apache-2.0
// MeasuredStep: the part of a tape that the answer is about, which is one step in the steady state,
// and a walk over it that carries the levels along. Every report that draws time (picture, csv,
// html, snapshot) walks the step this way.
//
//     at_start        the blocks that are alive before `first`
//     [first, last)   the events of the step, divided into windows
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "outcome/prediction.h"

namespace memtape::report {

struct MeasuredStep {
  std::size_t first = 0, last = 0;  ///< a half-open range of tape events
  std::span<const Window> windows;  ///< those of this step, in order; they view into the trace
  std::vector<BlockId> at_start;    ///< the blocks alive before `first`, in order of allocation
};

MeasuredStep measured_step(const Trace& trace);

/// The blocks that are alive after the first `count` events, in order of allocation.
std::vector<BlockId> alive_before(const Tape& tape, std::size_t count);

/// Steps through the events of the measured step and keeps what is alive by category and the
/// allocator's levels. Reserved bytes come from the timeline's samples; without samples they come
/// from the segments.
class StepWalk {
 public:
  StepWalk(const Trace& trace, const MeasuredStep& step);

  /// Plays the next event. It returns false at the end of the step, or where the run went out of
  /// memory and the tape was not played further.
  bool next();

  std::size_t event() const { return at_ - 1; }
  const CategoryBytes& by_category() const { return by_category_; }
  const Levels& levels() const { return levels_; }

 private:
  void account(BlockId block, Bytes sign);
  void reserve_until(std::size_t event);

  const Trace& trace_;
  std::size_t at_, last_;
  std::size_t sample_ = 0, segment_ = 0;
  CategoryBytes by_category_;
  Levels levels_;
};

/// The block's size in the allocator; it is 0 if the tape was not played as far as the block.
inline Bytes size_in_allocator(const Trace& trace, BlockId block) {
  return block < trace.sizes.size() ? trace.sizes[block] : 0;
}

}  // namespace memtape::report
