// SPDX-License-Identifier: Apache-2.0
// How far an answer may be off for a release of torch or transformers: as far as answers for recorded
// steps of the same family were, or, where its steps were recorded before and after but not with that
// release, as far as they changed between.
#pragma once

#include "predict/train.h"

namespace memtape {

/// Widens the bounds about `rank`, the fullest one, and names each release that is the cause. Does
/// nothing for releases under which steps of the family were recorded and answered to the byte, nor
/// for those that the rules were transcribed from.
void widen_by_releases(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                       const RankReport& rank);

}  // namespace memtape
