// SPDX-License-Identifier: Apache-2.0
// pretrain() of Megatron-LM (megatron/training/training.py) as one rank runs it: it makes the
// model's chunks, their buffers and the optimizer, and runs steps of the pipeline's schedule.
#pragma once

#include "framework/megatron/arguments.h"
#include "framework/torch/train_loop.h"

namespace memtape::megatron {

Result<torch::TrainRun> run_training(const TrainRecipe& recipe, const Arguments& arguments,
                                     const ghost::DeviceTraits& device, int rank);
/// The same. It says whether micro-batches that are alike are written down or all run.
Result<torch::TrainRun> run_training(const TrainRecipe& recipe, const Arguments& arguments,
                                     const ghost::DeviceTraits& device, int rank,
                                     torch::EqualLayerRuns runs);

/// The classes of ranks that hold the same sizes: those of one pipeline stage and, with the
/// distributed optimizer, of one shard.
Result<std::vector<torch::RankClass>> rank_classes(const TrainRecipe& recipe,
                                                   const Arguments& arguments);

}  // namespace memtape::megatron
