// SPDX-License-Identifier: Apache-2.0
// The training program of a recipe's framework, run on ghost tensors.
#pragma once

#include "framework/torch/train_loop.h"

namespace memtape {

Result<torch::TrainRun> run_program(const Config& config, const TrainRecipe& recipe,
                                    const ghost::DeviceTraits& device);

/// The recipe with what the model's configuration decides: Trainer's users load a checkpoint in the
/// dtype it was stored in, unless --weights says another.
TrainRecipe resolved(TrainRecipe recipe, const Config& config);

}  // namespace memtape
