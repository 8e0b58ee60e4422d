// SPDX-License-Identifier: Apache-2.0
// Dialect: everything that memtape knows about a training framework, in one description, which is
// in the framework's folder, src/framework/NAME/dialect.cpp: how its options are read, what it
// makes of a request, how its ranks run, what lies outside of the allocator, and what can be
// advised, planned, timed and exported. framework/dialects.cpp lists all of them.
//
// A member without a default must be set. The comment of a function says what null means. Test:
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

/// The axis of a mesh that takes all GPUs if no size is given.
enum class MeshAxis : std::uint8_t { data, tensor, pipeline, context };

/// How the plain loop's data parallel wrappers can share what they hold. Their space of plans uses
/// it.
struct DataParallelChoices {
  bool has_zero_stages = false;  ///< DeepSpeed's stages, which decide what may lie in host memory
  bool takes_ds_config = false;  ///< a ds_config may name the stage, beside other ways of sharing
  bool replicates = false;       ///< DDP
  bool shards = false;           ///< FSDP
  bool has_mesh = false;         ///< replicas and shards, set by "mesh" in its strategy
  /// The members of its strategy by which parameters are divided again after the forward, or stay
  /// whole.
  std::string_view cut_again = {}, kept_whole = {};
};

/// How every plan shares what it holds, if the user's own options say it.
struct SaidSharing {
  enum class Shards : std::uint8_t { unsaid, none, cut_again, kept_whole };
  /// Whether FSDP divides parameters, and divides them again after the forward.
  Shards shards = Shards::unsaid;
  bool has_engine = false;  ///< a ds_config asks for DeepSpeed
  std::int64_t zero = 0;    ///< the stage that the ds_config names
  bool offloads_optimizer = false, offloads_parameters = false;
};

/// Which space of plans a framework has (src/plan).
enum class PlanSpace : std::uint8_t { none, data_parallel, trainer, megatron, torchtitan };

/// The program that a plan is exported for (src/exports).
enum class ExportedProgram : std::uint8_t { none, plain_loop, trainer, pretrain_gpt, torchtitan };

/// The place of the framework among those that are planned if nobody names one. 0 means that it is
/// not planned.
struct PlannedPlace {
  int on_one_gpu = 0, on_many = 0;
};

/// The program that runs a step for `memtape verify` and `--real`.
enum class RealStep : std::uint8_t { none, plain_loop, trainer };

struct Dialect {
  Framework framework;                  ///< its name, and how its options are read
  std::span<const family::Task> tasks;  ///< those for which its program is modelled
  /// The packages whose releases decide the figures.
  std::vector<Package> (*packages)(const TrainRecipe& recipe);
  /// The recipe with what the model's configuration decides.
  TrainRecipe (*settle)(TrainRecipe recipe, const Config& config);
  /// The number of ranks that see different sequences.
  Result<std::int64_t> (*data_ranks)(const Config& config, const TrainRecipe& recipe);
  Result<TrainPlanPointer> (*plan)(const Config& config, const TrainRecipe& recipe);
  /// The ranks, in classes of ranks that run alike.
  Result<std::vector<torch::RankClass>> (*ranks)(const TrainPlan& plan, const Config& config);
  /// Runs the whole program of one rank on ghost tensors.
  Result<torch::TrainRun> (*run)(const TrainPlan& plan, const Config& config,
                                 const ghost::DeviceTraits& device, int rank);

  MeshAxis spreads_over = MeshAxis::data;
  /// On several GPUs, the counts of parameters are those of one rank.
  bool counts_one_rank = false;
  bool runs_every_micro_batch = false;  ///< no micro-batch is assumed to repeat the one before
  /// Whether sizes depend on how tokens are spread over experts. If it is null, they do not.
  bool (*depends_on_routing)(const TrainRecipe& recipe) = nullptr;
  /// The framework's own warnings. If it is null, there are none.
  std::vector<std::string> (*warnings)(const Config& config, const TrainRecipe& recipe) = nullptr;
  LeverWords levers = {};

  time::FrameworkHabits time;
  PlanSpace space = PlanSpace::none;
  DataParallelChoices sharing = {};
  /// If it is null, the framework's own options decide nothing that a space does not decide.
  SaidSharing (*said_sharing)(const TrainRecipe& recipe) = nullptr;
  PlannedPlace planned = {};
  ExportedProgram exported = ExportedProgram::none;
  RealStep real_step = RealStep::none;
};

}  // namespace memtape
