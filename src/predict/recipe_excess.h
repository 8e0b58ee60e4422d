// SPDX-License-Identifier: Apache-2.0
// How much more memory one recipe reserves than another. Bounds use it when another recipe tells
// how far the step may grow.
#pragma once

#include "model/config.h"
#include "predict/train.h"

namespace memtape {

/// The most that `rank` reserves.
Result<Bytes> reserved_by(const Config& config, const TrainRecipe& recipe,
                          const DeviceSetup& device, int rank = 0);

/// The most that rank 0 reserves under `larger`, minus the most that it reserves under `recipe`.
Result<Bytes> excess_over(const Config& config, const TrainRecipe& recipe,
                          const TrainRecipe& larger, const DeviceSetup& device);

}  // namespace memtape
