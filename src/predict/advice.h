// SPDX-License-Identifier: Apache-2.0
// Advice: what would make it fit. Each change is read and predicted as the command with it would
// be; the first that fits ends the search.
#pragma once

#include <vector>

#include "predict/train.h"

namespace memtape {

/// Changes that lower the device peak of a step that does not fit, smallest sacrifice first and
/// each with those before it that helped; the one that fits comes first. `resolved` is the recipe
/// of the command.
std::vector<Advice> advise(const ModelRequest& model, const TrainRecipe& resolved,
                           const DeviceSetup& device, const CommandWords& command,
                           const Prediction& failing);

}  // namespace memtape
