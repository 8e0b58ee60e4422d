// SPDX-License-Identifier: Apache-2.0
// The recipe as the answer repeats it: every option by its name on the command line, defaults
// spelled out.
#pragma once

#include <vector>

#include "report/prediction.h"
#include "workload/train_recipe.h"

namespace memtape {

std::vector<Setting> resolved_settings(const TrainRecipe& recipe);

}  // namespace memtape
