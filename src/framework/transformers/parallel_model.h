// SPDX-License-Identifier: Apache-2.0
// What prepare() of accelerate makes of Trainer's model on several GPUs (accelerate 1.15,
// accelerator.py, utils/fsdp_utils.py): DistributedDataParallel, FullyShardedDataParallel or
// fully_shard, with the options that Trainer (5.17) hands over. DeepSpeed's engine is made
// elsewhere.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "framework/torch/lever.h"
#include "framework/torch/train_loop.h"
#include "framework/transformers/deepspeed_model.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

/// Which of them wraps the model.
enum class Parallelism { none, replicas, ddp, fsdp1, fsdp2, deepspeed };
/// Whether accelerate's no_sync leaves the reductions of a step's earlier micro-batches on.
bool reduces_each_batch(const TrainRecipe& recipe);
/// sync_each_batch, where gradients wait, whole, for a step's last micro-batch.
std::vector<Lever> reduced_each(const TrainRecipe& recipe);
Parallelism parallelism_of(const TrainRecipe& recipe);

/// The wrapped model, or the bare one on one GPU.
std::unique_ptr<torch::DrivenModel> prepare_parallel(family::PretrainedModel& model,
                                                     const TrainRecipe& recipe, int rank);

/// trl's reference beside the model, as trl's trainers prepare it (prepare_fsdp, prepare_deepspeed
/// of trl 1.16, models/utils.py). It is whole on each GPU, except over FSDP; FSDP 2 makes it one
/// unit.
std::unique_ptr<torch::DrivenModel> prepare_reference(family::PretrainedModel& model,
                                                      const TrainRecipe& recipe, int rank);

/// An error for what is not modelled of Trainer on several GPUs.
Result<void> check_parallel(const TrainRecipe& recipe);

/// The classes of ranks whose shards are divided alike.
Result<std::vector<torch::RankClass>> rank_classes(const Config& config, const TrainRecipe& recipe,
                                                   const Engines& engines);

}  // namespace memtape::transformers
