// SPDX-License-Identifier: Apache-2.0
// RealQuestion: a training step as real torch is to run it on a phantom GPU: the request, the
// model's configuration, and the settings that the recipe's script is told.
#pragma once

#include <string>
#include <vector>

#include "answer/train_request.h"
#include "base/result.h"
#include "phantom/real_step.h"

namespace memtape::cli {

struct RealQuestion {
  answer::TrainRequest request;
  ModelSource source;
  TrainRecipe recipe;             ///< as it was resolved for this model
  std::vector<Setting> settings;  ///< what the script is told
  Gpu gpu;
  std::string placement = "linux";
};

/// Fails where the recipe is one that the scripts cannot run (several GPUs, trl).
Result<RealQuestion> real_question(const answer::RawOptions& options);

/// The step to run with that interpreter ("": the active environment's), under the model's name
/// or `id`.
phantom_run::StepRequest step_of(const RealQuestion& question, const std::string& python,
                                 const std::string& id = {});

}  // namespace memtape::cli
