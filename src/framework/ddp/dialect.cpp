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

Result<torch::TrainRun> run_plan(const TrainPlan& plan, const Config& config,
                                 const ghost::DeviceTraits& device, int) {
  return run_training(config, plan.common, own_options<Options>(plan), device);
}

}  // namespace

extern const Dialect kDialect;
constinit const Dialect kDialect{
    .framework = {.name = "ddp",
                  .summary = "the plain loop under torch's DistributedDataParallel",
                  .absent = kAbsent,
                  .arguments = torch::kPeftArguments,
                  .argument = torch::peft_argument,
                  .strategy = read_strategy},
    .settle = settle,
    .plan = torch::plan_by<Options, options_of>,
    .run = run_plan,
    .space = PlanSpace::data_parallel,
    .sharing = {.replicates = true},
    .planned = {.on_many = 5},
    .exported = ExportedProgram::plain_loop};

}  // namespace memtape::ddp
