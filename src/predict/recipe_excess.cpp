// SPDX-License-Identifier: Apache-2.0
#include "predict/recipe_excess.h"

#include "framework/torch/train_loop.h"
#include "predict/program.h"
#include "predict/rank_report.h"
#include "predict/step_play.h"

namespace memtape {
Result<Bytes> reserved_by(const Config& config, const TrainRecipe& recipe,
                          const DeviceSetup& device, int rank) {
  Result<torch::TrainRun> run = run_program(config, recipe, device_traits(device), rank);
  if (!run) return tl::unexpected(run.error());
  const StepPlay play = play_program(run->tape, device, {}, torch::kSteps - 1, false);
  return levels_report(*run, play, 0).peak.reserved;
}

Result<Bytes> excess_over(const Config& config, const TrainRecipe& recipe,
                          const TrainRecipe& larger, const DeviceSetup& device) {
  const Result<Bytes> with = reserved_by(config, recipe, device),
                      most = reserved_by(config, larger, device);
  if (!with) return with;
  if (!most) return most;
  return *most - *with;
}

}  // namespace memtape
