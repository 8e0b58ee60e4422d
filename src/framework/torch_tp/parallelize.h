// SPDX-License-Identifier: Apache-2.0
// A model under torch's tensor parallelism: parallelize_module by a plan, position_ids passed to
// the model (its hidden states may be cut along the sequence), and where more GPUs are left
// fully_shard over the pieces.
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

/// Ranks whose pieces have equal sizes.
Result<std::vector<torch::RankClass>> rank_classes(const Config& config, const TrainRecipe& recipe,
                                                   const Options& options);

}  // namespace memtape::torch_tp
