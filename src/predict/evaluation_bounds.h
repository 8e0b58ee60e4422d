// SPDX-License-Identifier: Apache-2.0
// Bounds of a training run whose evaluations are left out of the answer.
#pragma once

#include "model/config.h"
#include "predict/train.h"

namespace memtape {

/// Widens the upper bound to a training step on evaluation's batches, with their logits beside it;
/// nothing where evaluations are modelled or none runs.
Result<void> widen_by_evaluation(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                                 const DeviceSetup& device);

}  // namespace memtape
