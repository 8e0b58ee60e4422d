// SPDX-License-Identifier: Apache-2.0
// JobConfig: torchtitan's options that decide memory, by the names of its toml
// (torchtitan/config_manager.py), and what its trainer does depending on when it was checked out.
//
// torchtitan is used from its repository, so a version is a date. What changed, with the commit
// that changed it:
//     2024-06-12  e29b6b4d4  logits are let go of before backward
//     2024-10-22  e10cb9494  logits become float32 in the loss, not in the model
//     2025-02-24  6e4988550  AdamW is fused, not foreach
//     2025-03-19  3b39d7ab0  nn.RMSNorm in place of a module of its own
//     2025-04-02  bbb1b616e  the loss is compiled where the model is
//     2025-06-03             PyTorch's nightlies reshard a root that asks for it (#154704)
//     2025-06-18  v0.1.0     the loss is divided by the number of micro-batches, be it one
//     2025-07-25             PyTorch's nightlies have a kernel for nn.RMSNorm
//     2025-07-28  83e694105  embedding, and norm with head, are fully_shard units of their own
//     2025-08-28  8a6c9fe6e  checkpointed blocks are computed again to their end (early_stop)
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

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torchtitan {

/// A day, comparable: 20250604.
using Version = std::int64_t;
inline constexpr Version kFloatInLoss = 20241022, kFusedOptimizer = 20250224,
                         kNativeNorm = 20250319, kCompiledLoss = 20250402, kRootReshards = 20250603,
                         kFusedNorm = 20250725, kEndsAreUnits = 20250728, kRecomputesAll = 20250828,
                         kFreesLogits = 20240612, kRescalesLoss = 20250618;
/// models/moe as release 0.2.0 has it.
inline constexpr Version kMixtures = 20251001;
/// Stages' outputs are not returned: v0.2.1 (its train.py).
inline constexpr Version kReturnsNoOutputs = 20251226;
/// v0.2.2: keys and values go to attention as they are (enable_gqa), a batch goes to the GPU by
/// micro-batch and is let go of with the step, and context parallelism looks its positions up.
inline constexpr Version kGroupedAttention = 20260220;
/// That of release 0.2.0, the last line with toml files.
inline constexpr Version kDefaultVersion = 20251031;

enum class ActivationCheckpoint { none, full, layers, ops };
enum class LossKind { cross_entropy, chunked };

struct JobConfig {
  Version version = kDefaultVersion;
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

  bool since(Version change) const { return version >= change; }
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
