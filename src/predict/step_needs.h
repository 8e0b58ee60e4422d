// SPDX-License-Identifier: Apache-2.0
// StepNeeds: what a training step needs of its device and whether it fits, without what an answer
// tells beside. It says the same as predict_train() and takes less time, so that many changes of a
// command can be tried.
#pragma once

#include "base/result.h"
#include "predict/train.h"

namespace memtape {

struct StepNeeds {
  Bytes peak = 0;    ///< of the fullest rank on its device, without a limit
  Bytes needed = 0;  ///< the same, or what the device holds where cached segments go back
  bool fits = false;
  bool gives_back = false;  ///< fits because cached segments go back
};

/// The device must be one of a known size. An error where predict_train() has one.
Result<StepNeeds> needs_of(const ModelRequest& model, const TrainRecipe& asked,
                           const DeviceSetup& device);

}  // namespace memtape
