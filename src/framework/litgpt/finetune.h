// SPDX-License-Identifier: Apache-2.0
// litgpt finetune_lora and finetune_full on one GPU (0.5.13, finetune/lora.py, finetune/full.py):
// litgpt's own model under lightning.fabric. The longest sample of the data sets the length that
// the rotation's tables are made for; a check of two validation batches comes before the first
// step. Left out are the running means and counts the loop prints, a few KiB.
#pragma once

#include "framework/torch/train_loop.h"

namespace memtape::litgpt {

/// LoRA by the recipe's lora: targets are litgpt's own words (query, key, value, projection, mlp,
/// head). Errors: families litgpt lacks, options its program does not take.
Result<torch::TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                                     const ghost::DeviceTraits& device);

/// The recipe with litgpt's own defaults: adapters of queries and values, no clipping.
TrainRecipe resolved(TrainRecipe recipe);

}  // namespace memtape::litgpt
