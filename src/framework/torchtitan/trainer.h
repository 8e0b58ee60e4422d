// SPDX-License-Identifier: Apache-2.0
// torchtitan's trainer (train.py): the model is built on the meta device, parallelized (tensor
// parallelism, checkpointing, compiled blocks, fully_shard: models/llama3/infra/parallelize.py),
// given memory by to_empty, and then trained.
#pragma once

#include <vector>

#include "base/result.h"
#include "framework/torch/train_loop.h"
#include "framework/torchtitan/job_config.h"
#include "framework/torchtitan/model.h"
#include "model/config.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torchtitan {

/// What a job trains, and how.
struct Job {
  JobConfig config;
  ModelArgs model;
};
Result<Job> read_job(const Config& config, const TrainRecipe& recipe);

Result<torch::TrainRun> run_training(const TrainRecipe& recipe, const Job& job,
                                     const ghost::DeviceTraits& device, int rank);

/// The classes of ranks whose pieces have equal sizes.
Result<std::vector<torch::RankClass>> rank_classes(const TrainRecipe& recipe, const Job& job);

}  // namespace memtape::torchtitan
