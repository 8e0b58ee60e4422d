// SPDX-License-Identifier: Apache-2.0
// Which options a framework has at all. What one of them means is the dialect's business.
#pragma once

#include <span>

#include "base/result.h"
#include "workload/train_options.h"
#include "workload/train_recipe.h"

namespace memtape {

/// An error for an option that the framework has no use for, of those said or of the recipe that
/// they became.
Result<void> check_framework_options(std::span<const NamedValue> options,
                                     const TrainRecipe& recipe);

}  // namespace memtape
