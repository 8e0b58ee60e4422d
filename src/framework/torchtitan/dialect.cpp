// SPDX-License-Identifier: Apache-2.0
// torchtitan's trainer.
#include "framework/torch/dialect.h"

#include "framework/torch/dialect_parts.h"
#include "framework/torchtitan/job_config.h"
#include "framework/torchtitan/trainer.h"

namespace memtape::torchtitan {
namespace {

constexpr std::array kAbsent{torch::kNoTrainedLayers, torch::kNoUpcasting,  torch::kNoSchedule,
                             torch::kNoOffload,       torch::kNoInitDevice, torch::kNoFreezing};

std::vector<Package> packages_of_program(const TrainRecipe&) {
  return {Package::torch, Package::torchtitan};
}

/// Its configuration has a length of its own where none is named.
TrainRecipe settle(TrainRecipe recipe, const Config& config) {
  return resolved(torch::with_targets_of_model(std::move(recipe), config));
}

/// Expert parallel ranks are sent the rows of their experts.
bool depends_on_routing(const TrainRecipe& recipe) { return recipe.layout.ep.value_or(1) > 1; }

}  // namespace

extern const Dialect kDialect;
constinit const Dialect kDialect{
    .framework = {.name = "torchtitan",
                  .summary = "torchtitan's trainer",
                  .takes = {.low_bits = 2, .selective_checkpointing = true, .loss = "chunked"},
                  .absent = kAbsent,
                  .strategy = read_strategy,
                  .finish = read_common_words},
    .tasks = torch::kLanguageTasks,
    .packages = packages_of_program,
    .settle = settle,
    .plan = torch::plan_by<Job, read_job>,
    .ranks = torch::ranks_with<Job, rank_classes>,
    .run = torch::run_with<Job, run_training>,
    .depends_on_routing = depends_on_routing,
    .time = {.shards = true,
             .float32_gradients = true,
             .sequence_parallel = true,
             .fused = true,
             .selective = {.kind = time::Recompute::Kind::selective,
                           .mlp = true,
                           .moe = true},  // every second product is kept
             .read = read_time},
    .space = PlanSpace::torchtitan,
    .planned = {.on_many = 2},
    .exported = ExportedProgram::torchtitan};

}  // namespace memtape::torchtitan
