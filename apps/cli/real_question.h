// SPDX-License-Identifier: Apache-2.0
// RealQuestion: a training step that real torch shall run on a phantom GPU: the request, the
// model's configuration, and the settings for the script that runs it.
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
  std::vector<Setting> settings;  ///< the settings for the script
  Gpu gpu;
  std::string placement = "linux";
};

/// It fails if the scripts cannot run the recipe (several GPUs, trl).
Result<RealQuestion> real_question(const answer::RawOptions& options);

/// The step to run with that interpreter ("" means that of the active environment), under the
/// model's name or under `id`.
phantom_run::StepRequest step_of(const RealQuestion& question, const std::string& python,
                                 const std::string& id = {});

}  // namespace memtape::cli
