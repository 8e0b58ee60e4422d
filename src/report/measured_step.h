// SPDX-License-Identifier: Apache-2.0
// MeasuredStep: the part of a tape that the answer is about, one steady-state step, and a walk over
// it that carries the levels along. Every report that draws time (picture, csv, html, snapshot)
// walks the step this way.
//
//     at_start: blocks alive before `first`         [first, last): the step's events, cut into
//     windows
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "outcome/prediction.h"

namespace memtape::report {

struct MeasuredStep {
  std::size_t first = 0, last = 0;  ///< half open range of tape events
  std::span<const Window> windows;  ///< of this step, in order; they view into the trace
  std::vector<BlockId> at_start;    ///< alive before `first`, in order of allocation
};

MeasuredStep measured_step(const Trace& trace);

/// Blocks alive after the first `count` events, in order of allocation.
std::vector<BlockId> alive_before(const Tape& tape, std::size_t count);

/// Steps through the events of the measured step, keeping what is alive by category and the
/// allocator's levels. Reserved bytes come from the timeline's samples; where there are none, from
/// the segments.
class StepWalk {
 public:
  StepWalk(const Trace& trace, const MeasuredStep& step);

  /// Plays the next event; false at the end of the step, or where the tape was not played further
  /// (out of memory).
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

/// The block's size in the allocator; 0 where the tape was not played as far.
inline Bytes size_in_allocator(const Trace& trace, BlockId block) {
  return block < trace.sizes.size() ? trace.sizes[block] : 0;
}

}  // namespace memtape::report
