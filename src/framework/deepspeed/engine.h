// SPDX-License-Identifier: Apache-2.0
// DeepSpeed (deepspeed/runtime/engine.py): the program hands its model to deepspeed.initialize()
// and calls the engine for forward, backward and step. The ZeRO stage of the ds_config decides what
// is partitioned.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "family/pretrained.h"
#include "framework/deepspeed/ds_config.h"
#include "framework/torch/train_loop.h"
#include "model/config.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::deepspeed {

Result<torch::TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                                     const DsConfig& ds_config, const ghost::DeviceTraits& device,
                                     int rank);

/// The classes of ranks whose partitions begin and end alike.
Result<std::vector<torch::RankClass>> rank_classes(const Config& config, const TrainRecipe& recipe,
                                                   const DsConfig& ds_config);
/// The same for a program whose optimizer has some of the parameters in a second group.
using SecondGroup = std::function<std::vector<ghost::Tensor>(family::PretrainedModel&)>;
Result<std::vector<torch::RankClass>> rank_classes(const Config& config, const TrainRecipe& recipe,
                                                   const DsConfig& ds_config,
                                                   const SecondGroup& second_group);

}  // namespace memtape::deepspeed
