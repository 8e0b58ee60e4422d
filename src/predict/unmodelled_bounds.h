// SPDX-License-Identifier: Apache-2.0
// Bounds of a training run with settings whose effect on memory is not modelled. What they do is
// not known, so the range is a convention, not a limit: it reaches from what stays between steps,
// which a step cannot do without, to twice what a step adds to it.
#pragma once

#include "report/prediction.h"
#include "workload/train_recipe.h"

namespace memtape {

/// Nothing where all that was set is modelled. `rank` is the fullest one.
void widen_by_not_modelled(Bounds& bounds, const TrainRecipe& recipe, const RankReport& rank);

}  // namespace memtape
