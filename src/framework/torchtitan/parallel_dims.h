// SPDX-License-Identifier: Apache-2.0
// ParallelDims of torchtitan (torchtitan/distributed/parallel_dims.py): the mesh of a job, and
// which sizes of the model and of the batch it must divide.
#pragma once

#include <cstdint>

#include "framework/torchtitan/job_config.h"

namespace memtape::torchtitan {

/// Lays the job out over the GPUs. The axes of the mesh are pp, dp_replicate, dp_shard, cp and tp,
/// of which the last runs fastest; fully_shard sees dp_shard and cp as one axis.
Result<void> lay_out(const Config& model, const TrainRecipe& recipe, std::int64_t replicas,
                     JobConfig& job);

/// Checks the sizes that the axes of the job must divide.
Result<void> check_divides(const Config& model, const TrainRecipe& recipe, const JobConfig& job);

}  // namespace memtape::torchtitan
