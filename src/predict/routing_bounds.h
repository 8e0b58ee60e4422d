// SPDX-License-Identifier: Apache-2.0
// Bounds of a step whose sizes depend on how a router spreads tokens over experts that lie on
// several GPUs: which GPU gets how many cannot be known before.
#pragma once

#include "base/result.h"
#include "model/config.h"
#include "predict/train.h"

namespace memtape {

struct TrainRecipe;

/// Some GPU gets its even share at least. So where tokens are taken to be spread evenly, the bounds
/// reach up to what twice its share costs the fullest rank; where --imbalance says more, down to an
/// even share.
Result<void> widen_by_routing(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                              const DeviceSetup& device, const RankReport& rank);

}  // namespace memtape
