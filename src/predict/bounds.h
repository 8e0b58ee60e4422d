// SPDX-License-Identifier: Apache-2.0
// Bounds: how far the device peak may lie from the prediction. Each cause of a deviation that is
// known but not modelled widens them, and is named.
#pragma once

#include "framework/torch/train_loop.h"
#include "predict/train.h"

namespace memtape {

Bounds bounds_of(const torch::TrainRun& run, const DeviceSetup& device, const RankReport& rank);

}  // namespace memtape
