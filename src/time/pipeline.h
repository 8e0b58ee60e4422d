// SPDX-License-Identifier: Apache-2.0
// Pipeline: how long the ranks of a pipeline take for a step's micro-batches, by running their
// schedule: each rank does its actions in the order that the framework gives them, an action waits
// for the one whose result it needs. Closed formulas of bubbles are its tests.
#pragma once

#include <cstdint>
#include <vector>

#include "time/step_time.h"

namespace memtape::time {

/// What one micro-batch takes in a chunk of layers.
struct ChunkTime {
  double forward = 0;
  double backward = 0;  ///< of inputs alone where the schedule parts it, else all
  double weights = 0;   ///< the backward of weights, where the schedule parts it
};

struct Pipeline {
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  std::int64_t ranks = 1, chunks_per_rank = 1, micro_batches = 1;
  std::vector<ChunkTime> chunks;  ///< in the order of the model, ranks x chunks_per_rank
  double send = 0;                ///< between neighbouring chunks
  bool overlaps_sends = true;     ///< else the sender waits, too

  /// The rank that holds a chunk.
  std::int64_t rank_of(std::int64_t chunk) const;
};

struct PipelineTime {
  double seconds = 0;
  std::int64_t slowest = 0;  ///< the rank with the most to do
  double busy = 0;           ///< of that rank
  std::vector<PipelineSlot> slots;
};

/// Runs the schedule. More micro-batches than show the steady state are not run one by one: the
/// steady state repeats.
PipelineTime run_pipeline(const Pipeline& pipeline, bool slots = false);

}  // namespace memtape::time
