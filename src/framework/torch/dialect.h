// SPDX-License-Identifier: Apache-2.0
// Dialect: everything that memtape knows about a training framework, in one description, which is
// in the framework's folder, src/framework/NAME/dialect.cpp: how its options are read, what it
// makes of a request, how its ranks run, what lies outside of the allocator, and what can be
// advised, planned, timed and exported. framework/dialects.cpp lists all of them.
//
// A member without a default must be set. The comment of a function says what null means. Test:
// tests/framework/dialects.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "family/task.h"
#include "framework/torch/lever.h"
#include "framework/torch/model_defaults.h"
#include "framework/torch/train_loop.h"
#include "framework/torch/train_plan.h"
#include "release/package.h"
#include "time/train_setup.h"
#include "workload/framework.h"

namespace memtape {

// What a dialect does if it does not say anything else.
namespace torch {

/// All tasks for which families have a loss: first those of text, then encoder-decoders, then
/// classifiers of text, and then the others.
inline constexpr auto kAllTasks = std::to_array<family::Task>(
    {family::Task::causal_lm, family::Task::masked_lm, family::Task::image_text_to_text,
     family::Task::seq2seq_lm, family::Task::sequence_classification,
     family::Task::token_classification, family::Task::question_answering,
     family::Task::multiple_choice, family::Task::image_classification,
     family::Task::zero_shot_image_classification, family::Task::speech_seq2seq});
/// Decoders and encoders of text, whose tokens and labels have one length.
inline constexpr std::span kTextTasks = std::span(kAllTasks).first(3);
/// These and encoder-decoders.
inline constexpr std::span kLanguageTasks = std::span(kAllTasks).first(4);
/// These and classifiers of text.
inline constexpr std::span kTasksWithClasses = std::span(kAllTasks).first(8);

/// The packages torch and transformers, and peft if there are adapters.
std::vector<Package> packages_of_families(const TrainRecipe& recipe);

/// The GPUs divided by the tensor, pipeline and context parallel ranks.
Result<std::int64_t> data_ranks(const Config& config, const TrainRecipe& recipe);
/// It is one, however many GPUs there are, because they share each sequence.
Result<std::int64_t> one_data_rank(const Config& config, const TrainRecipe& recipe);

/// The plan of a framework that has no options of its own.
Result<TrainPlanPointer> plan_without_options(const Config& config, const TrainRecipe& recipe);

/// The one class of GPUs that all run the same program on the same sizes.
Result<std::vector<RankClass>> alike_ranks(const TrainPlan& plan, const Config& config);

}  // namespace torch

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
  /// whole, and by which the gradients of every micro-batch are reduced, not only of a step's last.
  std::string_view cut_again = {}, kept_whole = {}, reduced_each = {};
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
  Framework framework;  ///< its name, and how its options are read
  /// The tasks for which its program is modelled.
  std::span<const family::Task> tasks = torch::kAllTasks;
  /// The packages whose releases decide the figures.
  std::vector<Package> (*packages)(const TrainRecipe& recipe) = torch::packages_of_families;
  /// The recipe with what the model's configuration decides.
  TrainRecipe (*settle)(TrainRecipe recipe, const Config& config) = torch::settled;
  /// The number of ranks that see different sequences.
  Result<std::int64_t> (*data_ranks)(const Config& config,
                                     const TrainRecipe& recipe) = torch::data_ranks;
  Result<TrainPlanPointer> (*plan)(const Config& config,
                                   const TrainRecipe& recipe) = torch::plan_without_options;
  /// The ranks, in classes of ranks that run alike.
  Result<std::vector<torch::RankClass>> (*ranks)(const TrainPlan& plan,
                                                 const Config& config) = torch::alike_ranks;
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
  /// The share of the device that an engine beside the training holds. If it is null, there is none.
  double (*engine_share)(const TrainRecipe& recipe) = nullptr;
  LeverWords levers = {};

  time::FrameworkHabits time = {};
  PlanSpace space = PlanSpace::none;
  DataParallelChoices sharing = {};
  /// If it is null, the framework's own options decide nothing that a space does not decide.
  SaidSharing (*said_sharing)(const TrainRecipe& recipe) = nullptr;
  PlannedPlace planned = {};
  ExportedProgram exported = ExportedProgram::none;
  RealStep real_step = RealStep::none;
};

}  // namespace memtape
