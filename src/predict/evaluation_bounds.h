// SPDX-License-Identifier: Apache-2.0
// Bounds of a training run whose evaluations are not part of the answer.
#pragma once

#include "model/config.h"
#include "predict/train.h"

namespace memtape {

/// Raises the upper bound to a training step on the evaluation's batches plus their logits. Does
/// nothing if evaluations are modelled or none runs.
Result<void> widen_by_evaluation(Bounds& bounds, const Config& config, const TrainRecipe& recipe,
                                 const DeviceSetup& device);

}  // namespace memtape
