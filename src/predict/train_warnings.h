// SPDX-License-Identifier: Apache-2.0
// Warnings about a prediction of training: what it assumes, what it runs shorter than asked, and
// what the checkpoint holds that the family does not build; and what the model has no use for.
#pragma once

#include <string>
#include <vector>

#include "predict/train.h"

namespace memtape {

/// An error for an imbalance of experts that the model does not have.
Result<void> check_expert_load(const ModelRequest& model, const TrainRecipe& recipe);

void add_train_warnings(const ModelRequest& model, const TrainRecipe& recipe,
                        std::vector<std::string>& warnings);

}  // namespace memtape
