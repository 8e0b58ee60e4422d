// SPDX-License-Identifier: Apache-2.0
// InFlight: when a micro-batch is alive in a stage of a pipeline: from the beginning of its forward
// to the end of its last backward. Where micro-batches follow one another, as in gradient
// accumulation, there is nothing to tell.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "outcome/prediction.h"
#include "timeline/timeline.h"

namespace memtape::report {

struct InFlight {
  int stage = 0, micro_batch = 0;
  std::size_t from = 0, to = 0;  ///< tape events, half open
};

/// One per stage and micro-batch, in order of stage and of forward; none unless two of them are
/// alive at once.
std::vector<InFlight> micro_batches_in_flight(std::span<const Window> windows);

/// "F1 F2 B1 B2", or "F1.4" where the rank has several stages.
std::string passes_text(std::span<const Pass> passes);

/// What the ranks of a pipeline run, one for each kind of rank in order of stage; none where there
/// is no pipeline of several micro-batches.
struct StageSchedule {
  int stage = 0;
  std::string passes;
  int most_alive = 0;  ///< micro-batches whose forward has run and whose last backward has not
};
std::vector<StageSchedule> stage_schedules(std::span<const RankReport> ranks);

}  // namespace memtape::report
