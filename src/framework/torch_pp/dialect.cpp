// SPDX-License-Identifier: Apache-2.0
// The plain loop over a pipeline: torch.distributed.pipelining.
#include "framework/torch/dialect.h"

#include "framework/torch/dialect_parts.h"
#include "framework/torch_pp/options.h"
#include "framework/torch_pp/pipeline.h"

namespace memtape::torch_pp {
namespace {

constexpr std::array kAbsent{torch::kNoTrainedLayers, torch::kNoUpcasting, torch::kNoOffload,
                             torch::kNoInitDevice};

/// A global batch says how many micro-batches there are.
TrainRecipe settle(TrainRecipe recipe, const Config& config) {
  recipe = torch::settled(std::move(recipe), config);
  return recipe.global_batch_size ? recipe : resolved(std::move(recipe));
}

Result<std::vector<torch::RankClass>> ranks_of_plan(const TrainPlan& plan, const Config&) {
  return rank_classes(own_options<Options>(plan));
}

}  // namespace

extern const Dialect kDialect;
constinit const Dialect kDialect{
    .framework = {.name = "torch-pp",
                  .summary = "the plain loop over the stages of torch.distributed.pipelining",
                  .takes = {.layer_checkpointing = true},
                  .absent = kAbsent,
                  .strategy = read_strategy},
    .tasks = torch::kLanguageTasks,
    .settle = settle,
    .data_ranks = torch::one_data_rank,
    .plan = torch::plan_by<Options, options_of>,
    .ranks = ranks_of_plan,
    .run = torch::run_with<Options, run_training>,
    .spreads_over = MeshAxis::pipeline,
    .runs_every_micro_batch = true};

}  // namespace memtape::torch_pp
