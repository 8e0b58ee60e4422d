// SPDX-License-Identifier: Apache-2.0
// A model under torch's tensor parallelism: parallelize_module with a plan, position_ids passed to
// the model (because its hidden states may be divided along the sequence) and, if there are more
// GPUs, fully_shard over the pieces.
#pragma once

#include <vector>

#include "base/result.h"
#include "framework/torch/train_loop.h"
#include "framework/torch_tp/options.h"
#include "model/config.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torch_tp {

Result<torch::TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                                     const Options& options, const ghost::DeviceTraits& device,
                                     int rank);

/// The classes of ranks whose pieces have equal sizes.
Result<std::vector<torch::RankClass>> rank_classes(const Config& config, const TrainRecipe& recipe,
                                                   const Options& options);

}  // namespace memtape::torch_tp
