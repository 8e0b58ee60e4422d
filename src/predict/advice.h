// SPDX-License-Identifier: Apache-2.0
// Advice: what would make it fit. Each change is predicted exactly; the first that fits ends its
// line of thought.
#pragma once

#include <vector>

#include "predict/train.h"

namespace memtape {

/// Changes that lower the device peak, smallest sacrifice first, each with its own exact peak;
/// those that fit come first.
std::vector<Advice> advise(const ModelRequest& model, const TrainRecipe& recipe,
                           const DeviceSetup& device, Bytes peak_device_bytes);

}  // namespace memtape
