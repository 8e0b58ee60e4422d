// SPDX-License-Identifier: Apache-2.0
// The plain loop under fully_shard.
#include "framework/torch/dialect.h"

#include "framework/fsdp2/fully_shard.h"
#include "framework/fsdp2/options.h"
#include "framework/torch/dialect_parts.h"
#include "framework/torch/init_device.h"

namespace memtape::fsdp2 {
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
  Result<Options> options = read_options(recipe);
  if (options && options->cpu_offload && torch::init_device(recipe) == InitDevice::meta)
    return bad_input("FSDP 2 asks for parameters on the host where it offloads them",
                     "--init-device", "cpu");
  return plan_with(recipe, std::move(options));
}

}  // namespace

extern const Dialect kDialect;
constinit const Dialect kDialect{
    .framework = {.name = "fsdp2",
                  .summary = "the plain loop under torch's fully_shard",
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
    .time = {.shards = true, .float32_gradients = true},
    .space = PlanSpace::data_parallel,
    .sharing = {.shards = true,
                .has_mesh = true,
                .cut_again = R"("reshard_after_forward": true)",
                .kept_whole = R"("reshard_after_forward": false)"},
    .planned = {.on_many = 3},
    .exported = ExportedProgram::plain_loop};

}  // namespace memtape::fsdp2
