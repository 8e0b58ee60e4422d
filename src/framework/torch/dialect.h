// SPDX-License-Identifier: Apache-2.0
// Dialect: all that a training framework is to memtape, in one description that lies in its folder,
// src/framework/NAME/dialect.cpp: how its options are read, what it makes of a request, how its
// ranks run, what lies outside the allocator, what could be advised, planned, timed and exported.
// framework/dialects.cpp lists them.
//
// A member that has no default must be set; a null function means what its comment says. Test:
// tests/framework/dialects.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "family/task.h"
#include "framework/torch/lever.h"
#include "framework/torch/train_loop.h"
#include "framework/torch/train_plan.h"
#include "release/package.h"
#include "time/train_setup.h"
#include "workload/framework.h"

namespace memtape {

/// The axis of a mesh that takes all GPUs where no size is given.
enum class MeshAxis : std::uint8_t { data, tensor, pipeline, context };

/// How the plain loop's data parallel wrappers share what they hold, for their space of plans.
struct DataParallelChoices {
  bool has_zero_stages = false;  ///< DeepSpeed's, which decide what may lie in host memory
  bool takes_ds_config = false;  ///< beside other ways of sharing: a stage is one that it names
  bool replicates = false;       ///< DDP
  bool shards = false;           ///< FSDP
  bool has_mesh = false;         ///< of replicas and shards, by "mesh" of its strategy
  std::string_view cut_again = {},
                   kept_whole = {};  ///< a member of its strategy: after the forward
};

/// How every plan shares what it holds where the asker's own options say so.
struct SaidSharing {
  enum class Shards : std::uint8_t { unsaid, none, cut_again, kept_whole };
  Shards shards = Shards::unsaid;  ///< whether FSDP cuts parameters, and again after the forward
  bool has_engine = false;         ///< DeepSpeed, by a ds_config
  std::int64_t zero = 0;           ///< the stage that it names
  bool offloads_optimizer = false, offloads_parameters = false;
};

/// Which space of plans a framework has (src/plan).
enum class PlanSpace : std::uint8_t { none, data_parallel, trainer, megatron, torchtitan };

/// The program that a plan is exported for (src/exports).
enum class ExportedProgram : std::uint8_t { none, plain_loop, trainer, pretrain_gpt, torchtitan };

/// The framework's place among those that are planned where nobody names one; 0: it is not.
struct PlannedPlace {
  int on_one_gpu = 0, on_many = 0;
};

/// The program that runs a step for `memtape verify` and `--real`.
enum class RealStep : std::uint8_t { none, plain_loop, trainer };

struct Dialect {
  Framework framework;                  ///< its name and how its options are read
  std::span<const family::Task> tasks;  ///< that its program is modelled for
  std::vector<Package> (*packages)(const TrainRecipe& recipe);  ///< whose releases decide
  /// The recipe with what the model's configuration decides.
  TrainRecipe (*settle)(TrainRecipe recipe, const Config& config);
  /// The ranks that see sequences of their own.
  Result<std::int64_t> (*data_ranks)(const Config& config, const TrainRecipe& recipe);
  Result<TrainPlanPointer> (*plan)(const Config& config, const TrainRecipe& recipe);
  /// The ranks, those that run alike together.
  Result<std::vector<torch::RankClass>> (*ranks)(const TrainPlan& plan, const Config& config);
  /// The whole program of one rank, on ghost tensors.
  Result<torch::TrainRun> (*run)(const TrainPlan& plan, const Config& config,
                                 const ghost::DeviceTraits& device, int rank);

  MeshAxis spreads_over = MeshAxis::data;
  bool counts_one_rank = false;  ///< parameters are those of a rank, where there are several GPUs
  bool runs_every_micro_batch = false;  ///< none is taken to repeat the one before
  /// Whether sizes depend on how tokens are spread over experts; null: no.
  bool (*depends_on_routing)(const TrainRecipe& recipe) = nullptr;
  /// Warnings of its own; null: none.
  std::vector<std::string> (*warnings)(const Config& config, const TrainRecipe& recipe) = nullptr;
  LeverWords levers = {};

  time::FrameworkHabits time;
  PlanSpace space = PlanSpace::none;
  DataParallelChoices sharing = {};
  /// Null: its own options say nothing that a space does not decide.
  SaidSharing (*said_sharing)(const TrainRecipe& recipe) = nullptr;
  PlannedPlace planned = {};
  ExportedProgram exported = ExportedProgram::none;
  RealStep real_step = RealStep::none;
};

}  // namespace memtape
