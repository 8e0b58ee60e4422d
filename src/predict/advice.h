// SPDX-License-Identifier: Apache-2.0
// Advice: what would make it fit. Each change is predicted exactly; the first that fits ends its
// line of thought.
#pragma once

#include <vector>

#include "predict/train.h"

namespace memtape {

/// Changes that lower the device peak of a step that does not fit, smallest sacrifice first, each
/// with its own exact peak; those that fit come first.
std::vector<Advice> advise(const ModelRequest& model, const TrainRecipe& recipe,
                           const DeviceSetup& device, const Prediction& failing);

}  // namespace memtape
