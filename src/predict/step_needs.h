// SPDX-License-Identifier: Apache-2.0
// StepNeeds: what a training step needs of its device, and whether it fits, without the rest of an
// answer. It says the same as predict_train() and takes less time, so that many changes of a
// command can be tried.
#pragma once

#include "base/result.h"
#include "predict/train.h"

namespace memtape {

struct StepNeeds {
  Bytes peak = 0;  ///< the peak of the fullest rank on its device, without a limit
  /// The same, or what the device holds if cached segments go back to the driver.
  Bytes needed = 0;
  /// What the longest and the shortest sequences need alike: parameters, buffers and the optimizer's
  /// state where they lie on the device throughout, and what is outside the allocator.
  Bytes held = 0;
  bool fits = false;
  bool gives_back = false;  ///< it fits only because cached segments go back
};

/// The size of the device must be known. It is an error if predict_train() would return one.
Result<StepNeeds> needs_of(const ModelRequest& model, const TrainRecipe& asked,
                           const DeviceSetup& device);

}  // namespace memtape
