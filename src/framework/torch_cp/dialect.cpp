// SPDX-License-Identifier: Apache-2.0
// The plain loop with each sequence cut over GPUs: torch's context_parallel.
#include "framework/torch/dialect.h"

#include "framework/torch/dialect_parts.h"
#include "framework/torch_cp/context_parallel.h"
#include "framework/torch_cp/options.h"

namespace memtape::torch_cp {
namespace {

constexpr std::array kAbsent{torch::kNoSchedule, torch::kNoOffload, torch::kNoInitDevice};

Result<std::vector<torch::RankClass>> ranks_of_plan(const TrainPlan& plan, const Config&) {
  return rank_classes(plan.common.layout.gpus);
}

}  // namespace

extern const Dialect kDialect;
constinit const Dialect kDialect{
    .framework = {.name = "torch-cp",
                  .summary = "the plain loop under torch's context_parallel",
                  .absent = kAbsent,
                  .strategy = read_strategy},
    .tasks = torch::kTextTasks,
    .data_ranks = torch::one_data_rank,
    .plan = torch::plan_by<Options, options_of>,
    .ranks = ranks_of_plan,
    .run = torch::run_with<Options, run_training>,
    .spreads_over = MeshAxis::context};

}  // namespace memtape::torch_cp
