// SPDX-License-Identifier: Apache-2.0
// _setup_low_rank_optimizer (transformers 5.17, trainer_optimizer.py): the parameters to which
// GaLore and APOLLO apply, which form a group after all others, and the optimizer over all of them.
#pragma once

#include <memory>

#include "base/result.h"
#include "family/pretrained.h"
#include "framework/torch/optimizer.h"
#include "framework/transformers/trainer_recipe.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

/// The optimizer that the name galore_* or apollo_* stands for.
std::unique_ptr<torch::Optimizer> create_low_rank(const TrainerRecipe& recipe,
                                                  family::PretrainedModel& model);

/// An error for what these optimizers refuse before they are made.
Result<void> check_low_rank(const TrainRecipe& recipe);

}  // namespace memtape::transformers
