// SPDX-License-Identifier: Apache-2.0
// A model under torch's context_parallel (torch/distributed/tensor/experimental). Within the
// context, tokens, labels and positions are divided along the sequence, the model runs on its piece
// of them, and attention goes around the ring. Parameters are whole on every GPU unless fully_shard
// divides them.
#pragma once

#include <vector>

#include "base/result.h"
#include "framework/torch/train_loop.h"
#include "framework/torch_cp/options.h"
#include "model/config.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torch_cp {

Result<torch::TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                                     const Options& options, const ghost::DeviceTraits& device,
                                     int rank);

/// Ranks differ, because each has its own share of the causal steps.
std::vector<torch::RankClass> rank_classes(std::int64_t gpus);

}  // namespace memtape::torch_cp
