// SPDX-License-Identifier: Apache-2.0
// Bounds of a training run with settings whose effect on memory is not modelled. The effect is
// unknown, so the range is a convention and not a limit: it begins at what stays between steps,
// which no step can do without, and ends at twice what a step adds to that.
#pragma once

#include "outcome/prediction.h"

namespace memtape {

struct TrainRecipe;

/// Does nothing if all settings are modelled. `rank` is the fullest one.
void widen_by_not_modelled(Bounds& bounds, const TrainRecipe& recipe, const RankReport& rank);

}  // namespace memtape
