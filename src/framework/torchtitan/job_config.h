// SPDX-License-Identifier: Apache-2.0
// JobConfig: torchtitan's options that decide memory, by the names of its toml
// (torchtitan/config_manager.py), and what its trainer does depending on the day of its
// checkout (release/torchtitan_changes.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "framework/fsdp2/options.h"
#include "framework/torch_cp/ring_attention.h"
#include "framework/torchtitan/pipeline_options.h"
#include "mesh/layout.h"
#include "model/config.h"
#include "release/torchtitan_changes.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torchtitan {

/// That of release 0.2.0, the last line with toml files.
inline constexpr Version kDefaultDay{2025, 10, 31};

enum class ActivationCheckpoint { none, full, layers, ops };
enum class LossKind { cross_entropy, chunked };

struct JobConfig {
  Version day = kDefaultDay;  ///< of the checkout
  ActivationCheckpoint activation_checkpoint = ActivationCheckpoint::none;
  std::int64_t checkpoint_every = 1;  ///< selective_ac_option as a number
  bool compiles_blocks = false, compiles_loss = false;
  LossKind loss = LossKind::cross_entropy;
  std::int64_t loss_chunks = 8;
  bool loss_parallel = false;
  bool early_stop = false;   ///< of what is computed again for backward
  bool steps_early = false;  ///< early_step_in_backward
  bool accumulates = false;  ///< gradients of several micro-batches
  bool shards = false;       ///< fully_shard at all: dp_shard or cp are more than one
  fsdp2::Options fsdp2;
  std::optional<PipelineOptions> pipeline;
  torch_cp::Rotation rotation = torch_cp::Rotation::all_gather;
  /// Axes "pp", "replicate", "dp_shard", "ep", "cp" and "tp", the last fastest; shards of all but
  /// experts lie over "dp_shard" (dp_shard_mod_ep), "ep" (dp_shard_in_ep) and "cp".
  Layout layout{{}};
  std::int64_t expert_parallel = 1;  ///< ranks that share experts, those of "ep" and others
  bool cuts_experts = false;         ///< tensor parallelism cuts shared experts (ETP = TP)

  bool has(const Change& change) const { return day >= change.since; }
  std::int64_t size(std::string_view axis) const { return layout.size(axis); }
  /// apply_ddp: no shards, yet several GPUs with the same parameters.
  bool replicates() const { return !shards && size("replicate") > 1; }
  bool autocasts() const { return !shards && size("tp") == 1 && size("pp") == 1; }
};

Result<JobConfig> read_job_config(const Config& model, const TrainRecipe& recipe);

/// The recipe with torchtitan's own defaults where it says nothing: float32 parameters, the
/// optimizer's form of the day.
TrainRecipe resolved(TrainRecipe recipe);

}  // namespace memtape::torchtitan
