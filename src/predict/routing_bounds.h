// SPDX-License-Identifier: Apache-2.0
// Bounds of a step whose sizes depend on how a router spreads tokens over experts that lie on
// several GPUs: which GPU gets how many cannot be known before.
#pragma once

#include "base/result.h"
#include "model/config.h"
#include "predict/train.h"

namespace memtape {

struct TrainRecipe;

/// At least one GPU gets its even share or more. If tokens are assumed to be spread evenly, the
/// upper bound becomes what twice that share costs the fullest rank. If --imbalance assumes more
/// than an even share, the lower bound becomes what an even share costs.
Result<void> widen_by_routing(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                              const DeviceSetup& device, const RankReport& rank);

}  // namespace memtape
