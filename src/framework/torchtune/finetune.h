// SPDX-License-Identifier: Apache-2.0
// full_finetune_single_device and lora_finetune_single_device of torchtune (0.6.1, recipes/): its
// own model, built on the GPU in the dtype of training. A step is measured from where the recipe
// logs the one before, whose batch and counts are still there.
#pragma once

#include <span>
#include <vector>

#include "framework/torch/train_loop.h"
#include "framework/torch/train_plan.h"
#include "option/given.h"
#include "release/package.h"

namespace memtape::torchtune {

/// clip_grad_norm of the configurations that torchtune ships is null.
void start(std::span<const NamedValue> options, TrainRecipe& recipe);

/// The packages whose releases decide the figures.
std::vector<Package> packages_of_recipes(const TrainRecipe& recipe);

/// Families that torchtune lacks and options that its recipes do not take are errors.
Result<torch::TrainRun> run_training(const TrainPlan& plan, const Config& config,
                                     const ghost::DeviceTraits& device, int rank);

}  // namespace memtape::torchtune
