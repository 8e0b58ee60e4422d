// SPDX-License-Identifier: Apache-2.0
// How much more memory one recipe reserves than another, for bounds that another recipe gives.
#pragma once

#include "model/config.h"
#include "predict/train.h"

namespace memtape {

/// The most that rank 0 reserves.
Result<Bytes> reserved_by(const Config& config, const TrainRecipe& recipe,
                          const DeviceSetup& device);

/// What rank 0 reserves at the most under `larger`, less what it does under `recipe`.
Result<Bytes> excess_over(const Config& config, const TrainRecipe& recipe,
                          const TrainRecipe& larger, const DeviceSetup& device);

}  // namespace memtape
