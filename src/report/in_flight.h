// SPDX-License-Identifier: Apache-2.0
// InFlight: when a micro-batch is alive in a stage of a pipeline: from the beginning of its forward
// to the end of its last backward. Where micro-batches follow one another, as in gradient
// accumulation, there is nothing to tell.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "timeline/timeline.h"

namespace memtape::report {

struct InFlight {
  int stage = 0, micro_batch = 0;
  std::size_t from = 0, to = 0;  ///< tape events, half open
};

/// One per stage and micro-batch, in order of stage and of forward; none unless two of them are
/// alive at once.
std::vector<InFlight> micro_batches_in_flight(std::span<const Window> windows);

}  // namespace memtape::report
