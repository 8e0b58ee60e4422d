// SPDX-License-Identifier: Apache-2.0
// torchtitan's trainer (train.py): the model is built on the meta device, parallelized (tensor
// parallelism, checkpointing, compiled blocks, fully_shard: models/llama3/infra/parallelize.py),
// given memory by to_empty, and trained.
#pragma once

#include <vector>

#include "base/result.h"
#include "framework/torch/train_loop.h"
#include "model/config.h"
#include "workload/train_recipe.h"

namespace memtape::torchtitan {

Result<torch::TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                                     const ghost::DeviceTraits& device, int rank);

/// Ranks whose pieces have equal sizes.
Result<std::vector<torch::RankClass>> rank_classes(const Config& config, const TrainRecipe& recipe);

}  // namespace memtape::torchtitan
