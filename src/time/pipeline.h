// SPDX-License-Identifier: Apache-2.0
// Pipeline: how long the ranks of a pipeline take for the micro-batches of a step. It runs their
// schedule: each rank does its actions in the order that the framework gives them, and an action
// waits for the one whose result it needs. The tests compare it with closed formulas for the
// bubble.
#pragma once

#include <cstdint>
#include <vector>

#include "time/step_time.h"

namespace memtape::time {

/// The time of one micro-batch in a chunk of layers.
struct ChunkTime {
  double forward = 0;
  double backward = 0;  ///< the gradients of inputs if the schedule splits the backward, else all
  double weights = 0;   ///< the gradients of weights if the schedule splits the backward
};

struct Pipeline {
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  std::int64_t ranks = 1, chunks_per_rank = 1, micro_batches = 1;
  std::vector<ChunkTime> chunks;  ///< in the order of the model; there are ranks x chunks_per_rank
  double send = 0;                ///< the time of a message between neighbouring chunks
  bool overlaps_sends = true;     ///< false: the sender waits for the message, too

  /// The rank that holds a chunk.
  std::int64_t rank_of(std::int64_t chunk) const;
};

struct PipelineTime {
  double seconds = 0;
  std::int64_t slowest = 0;  ///< the rank that has most to do
  double busy = 0;           ///< the time in which that rank computes
  std::vector<PipelineSlot> slots;
};

/// Runs the schedule. If there are more micro-batches than are needed to reach the steady state,
/// the others are not run one by one: the steady state repeats.
PipelineTime run_pipeline(const Pipeline& pipeline, bool slots = false);
/// How many are run.
std::int64_t followed_micro_batches(const Pipeline& pipeline);
/// From there on the slowest rank never waits but for the messages of each further micro-batch.
double waits_of_another(const Pipeline& pipeline);

}  // namespace memtape::time
