// SPDX-License-Identifier: Apache-2.0
// Which options a framework has at all. What one of them means is the dialect's business.
#pragma once

#include "base/result.h"
#include "workload/train_recipe.h"

namespace memtape {

/// An error for an option that the framework has no use for.
Result<void> check_framework_options(const TrainRecipe& recipe);

}  // namespace memtape
