// SPDX-License-Identifier: Apache-2.0
// The training program of a recipe's framework, run on ghost tensors: recipe, plan, ranks, runs.
#pragma once

#include <vector>

#include "framework/torch/train_loop.h"
#include "framework/torch/train_plan.h"
#include "outcome/prediction.h"

namespace memtape {

/// The recipe with what the model's configuration decides: Trainer's users load a checkpoint in the
/// dtype it was stored in, unless --weights says another; a global batch becomes micro-batches.
Result<TrainRecipe> resolved(TrainRecipe recipe, const Config& config);

/// What a resolved recipe means to its framework; an error where that has no such program.
Result<TrainPlanPointer> plan_of(const Config& config, const TrainRecipe& recipe);

/// The ranks that the answer reports, those that run alike together: all of them, or those alike
/// the recipe's rank.
Result<std::vector<torch::RankClass>> reported_ranks(const TrainPlan& plan, const Config& config);

/// The step as `rank` runs it.
Result<torch::TrainRun> run_plan(const TrainPlan& plan, const Config& config,
                                 const ghost::DeviceTraits& device, int rank);

/// Both at once, where one rank is all that is asked for.
Result<torch::TrainRun> run_program(const Config& config, const TrainRecipe& recipe,
                                    const ghost::DeviceTraits& device, int rank = 0);

/// The layout as the answer repeats it.
std::vector<Setting> mesh_settings(const TrainRecipe& recipe);

}  // namespace memtape
