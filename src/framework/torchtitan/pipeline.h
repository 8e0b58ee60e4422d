// SPDX-License-Identifier: Apache-2.0
// The trainer with a pipeline: every stage of the rank is a separate model, which is parallelized
// like a whole one, and schedule.step() replaces forward and backward (train.py).
#pragma once

#include "base/result.h"
#include "framework/torch/train_loop.h"
#include "framework/torchtitan/job_config.h"
#include "framework/torchtitan/model.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torchtitan {

/// `args` are those of the whole model.
Result<torch::TrainRun> run_pipeline(const ModelArgs& args, const JobConfig& job,
                                     const TrainRecipe& recipe, const ghost::DeviceTraits& device,
                                     std::int64_t rank);

}  // namespace memtape::torchtitan
