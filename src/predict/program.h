// SPDX-License-Identifier: Apache-2.0
// Runs the training program of a recipe's framework on ghost tensors: a recipe becomes a plan, the
// plan has ranks, and a rank runs the step.
#pragma once

#include <vector>

#include "framework/torch/train_loop.h"
#include "framework/torch/train_plan.h"
#include "outcome/prediction.h"

namespace memtape {

/// The recipe with what the model's configuration decides. Trainer's users load a checkpoint in the
/// dtype in which it is stored, unless --weights says another; and a global batch becomes a number
/// of micro-batches.
Result<TrainRecipe> resolved(TrainRecipe recipe, const Config& config);

/// What a resolved recipe means to its framework. It is an error if the framework has no such
/// program.
Result<TrainPlanPointer> plan_of(const Config& config, const TrainRecipe& recipe);

/// The ranks that the answer reports, in classes of ranks that run alike. These are all classes, or
/// only the class of the recipe's rank.
Result<std::vector<torch::RankClass>> reported_ranks(const TrainPlan& plan, const Config& config);

/// The step as `rank` runs it.
Result<torch::TrainRun> run_plan(const TrainPlan& plan, const Config& config,
                                 const ghost::DeviceTraits& device, int rank);

/// Plans and runs at once, if only one rank is asked for.
Result<torch::TrainRun> run_program(const Config& config, const TrainRecipe& recipe,
                                    const ghost::DeviceTraits& device, int rank = 0);

/// The layout as the answer states it.
std::vector<Setting> mesh_settings(const TrainRecipe& recipe);

}  // namespace memtape
