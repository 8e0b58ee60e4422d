// SPDX-License-Identifier: Apache-2.0
// What the ranks of a training say: one rank of each kind runs, as many at once as there are
// workers. Each has a session, an allocator and a driver of its own; nothing depends on who is done
// first.
#pragma once

#include <vector>

#include "framework/torch/train_loop.h"
#include "predict/step_play.h"
#include "predict/train.h"

namespace memtape {

/// The rank that rises highest, the first of several alike: its tape is what verdict, bounds and
/// pictures go by.
struct FullestRank {
  torch::TrainRun run;
  StepPlay play;
};

/// Runs one rank of each kind; fills `reports`, fullest first but for the one that holds the last
/// rank. `measured` is the step that is reported.
Result<FullestRank> run_ranks(const Config& config, const TrainRecipe& recipe,
                              const DeviceSetup& device, const PredictOptions& options,
                              int measured, std::vector<RankReport>& reports);

/// What is taken outside the allocator: the CUDA context and its modules.
Bytes outside_of(const DeviceSetup& device);

}  // namespace memtape
