// SPDX-License-Identifier: Apache-2.0
// Pipeline parallelism with torch.distributed.pipelining: a training loop around schedule.step().
#pragma once

#include <vector>

#include "base/result.h"
#include "framework/torch/train_loop.h"
#include "framework/torch_pp/options.h"
#include "model/config.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torch_pp {

Result<torch::TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                                     const Options& options, const ghost::DeviceTraits& device,
                                     int rank);

/// Every rank has its own stages.
std::vector<torch::RankClass> rank_classes(const Options& options);

}  // namespace memtape::torch_pp
