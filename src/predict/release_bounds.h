// SPDX-License-Identifier: Apache-2.0
// How far an answer may be off for a release that nobody has looked at: as far as the very same
// step has changed between two releases that are known.
#pragma once

#include "predict/train.h"

namespace memtape {

/// Widens the bounds of a recipe with a release outside the known ones by the largest change of its
/// peak between neighbouring recorded pairs, and names that pair. Nothing to do for known releases.
void widen_by_releases(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                       const DeviceSetup& device);

}  // namespace memtape
