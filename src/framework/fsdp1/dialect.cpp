// SPDX-License-Identifier: Apache-2.0
// The plain loop under FullyShardedDataParallel.
#include "framework/torch/dialect.h"

#include "framework/fsdp1/fully_sharded_data_parallel.h"
#include "framework/fsdp1/options.h"
#include "framework/torch/dialect_parts.h"

namespace memtape::fsdp1 {
namespace {

constexpr std::array kAbsent{torch::kNoSchedule};

/// torch's CPUOffload and CPUOffloadPolicy.
Result<void> check_options(std::span<const NamedValue>, const TrainRecipe& recipe) {
  const std::string& offload = recipe.layout.offload;
  if (offload.empty() || offload == "none" || offload == "all") return {};
  return bad_input("FSDP's CPUOffload takes parameters, gradients and optimizer together",
                   "--offload", "all");
}

Result<TrainPlanPointer> make_plan(const Config&, const TrainRecipe& recipe) {
  return plan_with(recipe, read_options(recipe));
}

}  // namespace

extern const Dialect kDialect;
constinit const Dialect kDialect{
    .framework = {.name = "fsdp1",
                  .summary = "the plain loop under torch's FullyShardedDataParallel",
                  .absent = kAbsent,
                  .check = check_options},
    .tasks = torch::kAllTasks,
    .packages = torch::packages_of_families,
    .settle = torch::settled,
    .data_ranks = torch::data_ranks,
    .plan = make_plan,
    .ranks = torch::ranks_with<Options, rank_classes>,
    .run = torch::run_with<Options, run_training>,
    .levers = {.cuts_unmade_models = true,
               .fused_optimizer = fused_by_torch,
               .adapters = adapters_by_rank},
    .time = {.shards = true},
    .space = PlanSpace::data_parallel,
    .sharing = {.shards = true,
                .cut_again = R"("sharding_strategy": "FULL_SHARD")",
                .kept_whole = R"("sharding_strategy": "SHARD_GRAD_OP")"},
    .exported = ExportedProgram::plain_loop};

}  // namespace memtape::fsdp1
