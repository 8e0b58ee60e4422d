// SPDX-License-Identifier: Apache-2.0
// InFlight: how long a micro-batch is alive in a stage of a pipeline, from the beginning of its
// forward to the end of its last backward. If micro-batches merely follow one another, as in
// gradient accumulation, there is nothing to show.
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
  std::size_t from = 0, to = 0;  ///< a half-open range of tape events
};

/// One for each stage and micro-batch, in the order of the stages and of their forwards. It is
/// empty unless two micro-batches are alive at the same time.
std::vector<InFlight> micro_batches_in_flight(std::span<const Window> windows);

/// "F1 F2 B1 B2", or "F1.4" if the rank has several stages.
std::string passes_text(std::span<const Pass> passes);

/// What the ranks of a pipeline run: one schedule for each kind of rank, in the order of the
/// stages. There is none without a pipeline of several micro-batches.
struct StageSchedule {
  int stage = 0;
  std::string passes;
  /// The most micro-batches whose forward has run and whose last backward has not.
  int most_alive = 0;
};
std::vector<StageSchedule> stage_schedules(std::span<const RankReport> ranks);

}  // namespace memtape::report
