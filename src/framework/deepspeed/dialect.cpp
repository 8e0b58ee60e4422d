// SPDX-License-Identifier: Apache-2.0
// The plain loop through DeepSpeed's engine.
#include "framework/torch/dialect.h"

#include "framework/deepspeed/ds_config.h"
#include "framework/deepspeed/engine.h"
#include "framework/torch/dialect_parts.h"

namespace memtape::deepspeed {
namespace {

constexpr std::array kAbsent{torch::kNoSchedule};

/// DeepSpeed moves the data of a model that is there.
Result<void> check_options(std::span<const NamedValue>, const TrainRecipe& recipe) {
  if (recipe.init_device != InitDevice::meta) return {};
  return has_none(*recipe.framework, "such way to make its model", "init-device", "cuda or cpu");
}

std::vector<Package> packages_of_program(const TrainRecipe& recipe) {
  std::vector<Package> packages = torch::packages_of_families(recipe);
  packages.push_back(Package::deepspeed);
  return packages;
}

TrainRecipe settle(TrainRecipe recipe, const Config& config) {
  return resolved(torch::settled(std::move(recipe), config));
}

}  // namespace

extern const Dialect kDialect;
constinit const Dialect kDialect{
    .framework = {.name = "deepspeed",
                  .summary = "the plain loop through DeepSpeed's engine, ZeRO 0 to 3",
                  .absent = kAbsent,
                  .strategy = read_strategy,
                  .check = check_options},
    .tasks = torch::kTasksWithClasses,
    .packages = packages_of_program,
    .settle = settle,
    .plan =
        [](const Config& config, const TrainRecipe& recipe) {
          return plan_with(recipe, ds_config_of(recipe.own.of<DsOptions>(), config, recipe));
        },
    .ranks = torch::ranks_with<DsConfig, rank_classes>,
    .run = torch::run_with<DsConfig, run_training>,
    .time = {.float32_masters = true},
    .space = PlanSpace::data_parallel,
    .sharing = {.has_zero_stages = true},
    .planned = {.on_one_gpu = 3, .on_many = 4},
    .exported = ExportedProgram::plain_loop};

}  // namespace memtape::deepspeed
