// SPDX-License-Identifier: Apache-2.0
// FSDP2, torch.distributed.fsdp.fully_shard: every layer of the model a unit, the rest of the model
// the root unit, as torch's tutorials and trainers apply it.
#pragma once

#include <vector>

#include "base/result.h"
#include "framework/torch/train_loop.h"
#include "model/config.h"
#include "workload/train_recipe.h"

namespace memtape::fsdp2 {

Result<torch::TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                                     const ghost::DeviceTraits& device, int rank);

/// Ranks whose shards have equal sizes.
Result<std::vector<torch::RankClass>> rank_classes(const Config& config, const TrainRecipe& recipe);

}  // namespace memtape::fsdp2
