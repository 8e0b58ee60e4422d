// SPDX-License-Identifier: Apache-2.0
// litgpt finetune_lora, finetune_full, finetune_adapter and finetune_adapter_v2 (0.5.13, finetune/):
// litgpt's own model under lightning.fabric, the first two on several GPUs under its FSDPStrategy,
// too, which wraps and checkpoints each Block. The longest sample of the data sets the length for
// which the rotation's tables are made. A check of two validation batches comes before the first
// step. The running means and counts that the loop prints are left out; they take a few KiB.
#pragma once

#include "framework/torch/train_loop.h"
#include "framework/torch/train_plan.h"

namespace memtape::litgpt {

/// If the recipe has `lora`, its targets are litgpt's own words (query, key, value, projection,
/// mlp, head). Families that litgpt lacks and options that its program does not take are errors.
Result<torch::TrainRun> run_training(const TrainPlan& plan, const Config& config,
                                     const ghost::DeviceTraits& device, int rank);

/// The ranks whose shards are cut alike.
Result<std::vector<torch::RankClass>> rank_classes(const TrainPlan& plan, const Config& config);

/// The recipe with litgpt's own defaults: adapters of queries and values, and no clipping.
TrainRecipe resolved(TrainRecipe recipe);

}  // namespace memtape::litgpt
