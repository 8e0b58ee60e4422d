// SPDX-License-Identifier: Apache-2.0
// Warnings about a prediction of training: what it assumes, what it runs shorter than asked, and
// what the checkpoint holds that the family does not build.
#pragma once

#include <string>
#include <vector>

#include "predict/train.h"

namespace memtape {

void add_train_warnings(const ModelRequest& model, const TrainRecipe& recipe,
                        std::vector<std::string>& warnings);

}  // namespace memtape
