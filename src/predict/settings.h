// SPDX-License-Identifier: Apache-2.0
// The recipe as the answer repeats it: every option by its command-line name, defaults included.
#pragma once

#include <vector>

#include "outcome/prediction.h"

namespace memtape {

struct TrainRecipe;

std::vector<Setting> resolved_settings(const TrainRecipe& recipe);
/// The same with the releases that are meant behind it.
std::vector<Setting> workload_settings(const TrainRecipe& recipe);

}  // namespace memtape
