// SPDX-License-Identifier: Apache-2.0
// How far an answer may be off for a release that is newer or older than the known ones: as far as
// the same step has changed between two known releases.
#pragma once

#include "predict/train.h"

namespace memtape {

/// For a recipe with such a release, widens the bounds by the largest change of its peak between
/// neighbouring recorded pairs of releases, and names that pair. Does nothing for known releases.
void widen_by_releases(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                       const DeviceSetup& device);

}  // namespace memtape
