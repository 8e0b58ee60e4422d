// SPDX-License-Identifier: Apache-2.0
// JobConfig: torchtitan's options that affect memory, under the names in its toml
// (torchtitan/config_manager.py), and what its trainer does depending on the day of its checkout
// (release/torchtitan_changes.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "framework/fsdp2/options.h"
#include "framework/torch_cp/ring_attention.h"
#include "framework/torchtitan/converters.h"
#include "framework/torchtitan/pipeline_options.h"
#include "mesh/layout.h"
#include "model/config.h"
#include "option/given.h"
#include "release/torchtitan_changes.h"
#include "release/torchtitan_days.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torchtitan {

enum class ActivationCheckpoint { none, full, layers, ops };
enum class LossKind { cross_entropy, chunked };

struct JobConfig {
  Version day = kDefaultTitanDay;  ///< the day of the checkout
  ActivationCheckpoint activation_checkpoint = ActivationCheckpoint::none;
  std::int64_t checkpoint_every = 1;  ///< selective_ac_option as a number
  bool compiles_blocks = false, compiles_loss = false;
  LossKind loss = LossKind::cross_entropy;
  std::int64_t loss_chunks = 8;
  bool loss_parallel = false;
  Converters converters;
  bool uses_flex = false;    ///< use_flex_attn, with masks by documents
  bool early_stop = false;   ///< for what is computed again in backward
  bool steps_early = false;  ///< early_step_in_backward
  bool accumulates = false;  ///< gradients of several micro-batches are accumulated
  bool shards = false;       ///< fully_shard is applied: dp_shard or cp is more than one
  fsdp2::Options fsdp2;
  std::optional<PipelineOptions> pipeline;
  torch_cp::Rotation rotation = torch_cp::Rotation::all_gather;
  /// The axes are "pp", "replicate", "dp_shard", "ep", "cp" and "tp", of which the last is the
  /// fastest. The shards of everything but experts lie over "dp_shard" (dp_shard_mod_ep), "ep"
  /// (dp_shard_in_ep) and "cp".
  Layout layout{{}};
  std::int64_t expert_parallel = 1;  ///< the ranks that share experts: those of "ep" and others
  bool cuts_experts = false;         ///< tensor parallelism divides shared experts (ETP = TP)

  bool has(const Change& change) const { return day >= change.since; }
  std::int64_t size(std::string_view axis) const { return layout.size(axis); }
  /// apply_ddp: there are no shards, but several GPUs have the same parameters.
  bool replicates() const { return !shards && size("replicate") > 1; }
  bool autocasts() const { return !shards && size("tp") == 1 && size("pp") == 1; }
};

/// Reads --strategy into the recipe's own part.
Result<void> read_strategy(std::string_view json, TrainRecipe& recipe);
/// --loss chunked is what "chunked_loss" is, --precision fp8 and mxfp8 what converters of all
/// products are.
Result<void> read_common_words(std::span<const NamedValue> options, TrainRecipe& recipe);
/// FrameworkHabits::read.
void read_time(const TrainRecipe& recipe, time::TrainSetup& setup);
/// The job that the recipe describes, with what its layout and the model decide.
Result<JobConfig> job_config_of(const Config& model, const TrainRecipe& recipe);

/// The recipe with torchtitan's own defaults for what it does not say: float32 parameters, and the
/// form of the optimizer on that day.
TrainRecipe resolved(TrainRecipe recipe);

}  // namespace memtape::torchtitan
