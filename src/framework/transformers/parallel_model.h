// SPDX-License-Identifier: Apache-2.0
// What accelerate's prepare() makes of Trainer's model on several GPUs (accelerate 1.15,
// accelerator.py, utils/fsdp_utils.py): DistributedDataParallel, FullyShardedDataParallel or
// fully_shard with the options that Trainer (5.17) hands over; DeepSpeed's engine is made
// elsewhere.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "framework/torch/train_loop.h"
#include "framework/transformers/deepspeed_model.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

/// Which of them wraps the model.
enum class Parallelism { none, ddp, fsdp1, fsdp2, deepspeed };
Parallelism parallelism_of(const TrainRecipe& recipe);

/// The wrapped model; the bare one on one GPU.
std::unique_ptr<torch::DrivenModel> prepare_parallel(family::PretrainedModel& model,
                                                     const TrainRecipe& recipe, int rank);

/// trl's reference beside it, as its trainers prepare that (prepare_fsdp, prepare_deepspeed of trl
/// 1.16, models/utils.py): whole on each GPU but over FSDP, by version 2 as one unit.
std::unique_ptr<torch::DrivenModel> prepare_reference(family::PretrainedModel& model,
                                                      const TrainRecipe& recipe, int rank);

/// What is not modelled of Trainer on several GPUs.
Result<void> check_parallel(const TrainRecipe& recipe);

/// Ranks whose shards are cut alike.
Result<std::vector<torch::RankClass>> rank_classes(const Config& config, const TrainRecipe& recipe,
                                                   const Engines& engines);

}  // namespace memtape::transformers
