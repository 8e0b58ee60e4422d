// SPDX-License-Identifier: Apache-2.0
// What a prediction of training takes for granted, runs shorter than asked, or finds in the
// checkpoint that the family does not build.
#pragma once

#include <string>
#include <vector>

#include "predict/train.h"

namespace memtape {

void add_train_warnings(const ModelRequest& model, const TrainRecipe& recipe,
                        std::vector<std::string>& warnings);

}  // namespace memtape
