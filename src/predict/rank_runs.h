// SPDX-License-Identifier: Apache-2.0
// Runs the ranks of a training. One rank of each kind runs, as many at once as there are workers.
// Each has its own session, allocator and driver, so the answer does not depend on which is done
// first.
#pragma once

#include <optional>
#include <vector>

#include "framework/torch/train_loop.h"
#include "predict/step_play.h"
#include "predict/train.h"

namespace memtape {

/// The step that is reported.
inline constexpr int kMeasuredStep = torch::kSteps - 1;

/// The rank with the highest peak; the first one if several are equal. Its tape decides the
/// verdict, the bounds and the pictures.
struct FullestRank {
  torch::TrainRun run;
  StepPlay play;
  /// It requests more than the device has, so it was not played (PredictOptions::until_too_large).
  bool cannot_fit = false;
  /// It would not fit if all else took the most that it may, so not every rank was run
  /// (PredictOptions::until_tight).
  bool is_tight = false;
};

/// Runs one rank of each kind and fills `reports`, sorted with the fullest rank first, except that
/// the report with the last rank comes last. `measured` is the step that is reported.
Result<FullestRank> run_ranks(const Config& config, const TrainRecipe& recipe,
                              const DeviceSetup& device, const PredictOptions& options,
                              int measured, std::vector<RankReport>& reports);

}  // namespace memtape
