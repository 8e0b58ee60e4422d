// SPDX-License-Identifier: Apache-2.0
// The well-known rules of thumb for training memory, applied to a step that was predicted exactly.
#pragma once

#include <vector>

#include "model/config.h"
#include "outcome/prediction.h"
#include "report/rules_of_thumb.h"

namespace memtape {

struct TrainRecipe;

/// Those that apply to the recipe, each beside the category it speaks of.
std::vector<RuleOfThumb> rules_of_thumb(const Config& config, const TrainRecipe& recipe,
                                        const Prediction& prediction);

}  // namespace memtape
