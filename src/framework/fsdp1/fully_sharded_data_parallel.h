// SPDX-License-Identifier: Apache-2.0
// FSDP1, torch.distributed.fsdp.FullyShardedDataParallel: by its auto-wrap policy every layer of
// the model is a unit, and the rest of the model is the root unit.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "framework/fsdp1/options.h"
#include "framework/torch/train_loop.h"
#include "model/config.h"
#include "nn/module.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::fsdp1 {

std::unique_ptr<torch::DrivenModel> shard_model(family::PretrainedModel& model,
                                                const Options& options, std::int64_t rank);

/// FSDP.summon_full_params(model, recurse=False) of a model that shard_model returned: the root
/// unit's own parameters are whole for as long as the returned object lives.
std::shared_ptr<void> summon_root(torch::DrivenModel& wrapped);

Result<torch::TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                                     const Options& options, const ghost::DeviceTraits& device,
                                     int rank);

/// The classes of ranks whose shards are divided alike.
Result<std::vector<torch::RankClass>> rank_classes(const Config& config, const TrainRecipe& recipe,
                                                   const Options& options);
/// The same for a model that exists.
std::vector<torch::RankClass> rank_classes(nn::ModuleNode& root, std::int64_t gpus,
                                           const Options& options);

}  // namespace memtape::fsdp1
