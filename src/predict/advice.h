// SPDX-License-Identifier: Apache-2.0
// Advice: which changes would make a training step fit. Each change is applied to the command and
// predicted exactly; the search ends at the first one that fits.
#pragma once

#include <string>
#include <vector>

#include "predict/train.h"

namespace memtape {

/// Changes that lower the device peak of a step that does not fit. They are tried from the smallest
/// sacrifice to the largest, each together with those before it that helped. If one fits, it is
/// listed first. `resolved` is the recipe of the command. The answer does not depend on the
/// workers.
std::vector<Advice> advise(const ModelRequest& model, const TrainRecipe& resolved,
                           const DeviceSetup& device, const CommandWords& command,
                           const Prediction& failing, const Workers& workers);

/// What is said of advice of which none fits in `limit`; "" if some does.
std::string why_nothing_helps(const std::vector<Advice>& advice, Bytes limit);

}  // namespace memtape
