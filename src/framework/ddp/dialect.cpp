// SPDX-License-Identifier: Apache-2.0
// The plain loop under DistributedDataParallel.
#include "framework/torch/dialect.h"

#include "framework/ddp/distributed_data_parallel.h"
#include "framework/ddp/options.h"
#include "framework/torch/dialect_parts.h"
#include "framework/torch/lora_config.h"

namespace memtape::ddp {
namespace {

constexpr std::array kAbsent{torch::kNoSchedule, torch::kNoOffload};

TrainRecipe settle(TrainRecipe recipe, const Config& config) {
  return resolved(torch::settled(std::move(recipe), config));
}

Result<TrainPlanPointer> make_plan(const Config&, const TrainRecipe& recipe) {
  return plan_with(recipe, read_options(recipe));
}

Result<torch::TrainRun> run_plan(const TrainPlan& plan, const Config& config,
                                 const ghost::DeviceTraits& device, int) {
  return run_training(config, plan.common, own_options<Options>(plan), device);
}

}  // namespace

extern const Dialect kDialect;
constinit const Dialect kDialect{
    .framework = {.name = "ddp",
                  .summary = "the plain loop under torch's DistributedDataParallel",
                  .takes = {.peft = true},
                  .absent = kAbsent,
                  .arguments = torch::kPeftArguments,
                  .argument = torch::peft_argument},
    .tasks = torch::kAllTasks,
    .packages = torch::packages_of_families,
    .settle = settle,
    .data_ranks = torch::data_ranks,
    .plan = make_plan,
    .ranks = torch::alike_ranks,
    .run = run_plan,
    .levers = {.fused_optimizer = fused_by_torch, .adapters = adapters_by_rank},
    .time = {},
    .space = PlanSpace::data_parallel,
    .sharing = {.replicates = true},
    .planned = {.on_many = 5},
    .exported = ExportedProgram::plain_loop};

}  // namespace memtape::ddp
