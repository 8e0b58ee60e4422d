// SPDX-License-Identifier: Apache-2.0
// models/llama3/infra/parallelize.py: what is done to the model between its construction on the
// meta device and fully_shard.
#pragma once

#include "framework/torch_tp/distributed_modules.h"
#include "framework/torchtitan/job_config.h"
#include "framework/torchtitan/model.h"

namespace memtape::torchtitan {

/// apply_tp: norms are sequence parallel, and products are divided by columns and by rows. Logits
/// stay divided under loss parallelism.
void apply_tensor_parallel(Transformer& model, const JobConfig& job,
                           torch_tp::DistributedModules& modules);

/// Applies ExpertParallel, TensorParallel or both to the experts of every mixture.
void share_experts(Transformer& model, const JobConfig& job, std::int64_t rank);
/// What apply_fsdp does to divided experts: they are units on the mesh of those ranks that have the
/// same experts.
fsdp2::InnerUnits experts_units(Transformer& model, const JobConfig& job);

/// apply_compile, which makes each block a separate graph.
void compile_blocks(Transformer& model, const JobConfig& job);

}  // namespace memtape::torchtitan
