// SPDX-License-Identifier: Apache-2.0
// The plain loop under fully_shard.
#include "framework/torch/dialect.h"

#include "framework/fsdp2/fully_shard.h"
#include "framework/fsdp2/lever.h"
#include "framework/fsdp2/options.h"
#include "framework/torch/dialect_parts.h"
#include "framework/torch/init_device.h"

namespace memtape::fsdp2 {
namespace {

constexpr std::array kAbsent{torch::kNoSchedule};

Result<Options> read_and_check(const TrainRecipe& recipe) {
  Result<Options> options = options_of(recipe);
  if (options && options->cpu_offload && torch::init_device(recipe) == InitDevice::meta)
    return bad_input("FSDP 2 asks for parameters on the host where it offloads them",
                     "--init-device", "cpu");
  return options;
}

void read_time(const TrainRecipe& recipe, time::TrainSetup& setup) {
  const Options& said = said_options(recipe);
  setup.reshard_after_forward = said.reshard_after_forward.value_or(true);
  setup.reduces_last = !said.requires_gradient_sync;
}

}  // namespace

extern const Dialect kDialect;
constinit const Dialect kDialect{
    .framework = {.name = "fsdp2",
                  .summary = "the plain loop under torch's fully_shard",
                  .absent = kAbsent,
                  .strategy = read_strategy,
                  .check = torch::check_offloads_all},
    .plan = torch::plan_by<Options, read_and_check>,
    .ranks = torch::ranks_with<Options, rank_classes>,
    .run = torch::run_with<Options, run_training>,
    .levers = {.cuts_unmade_models = true, .sharing = reduced_each},
    .time = {.shards = true, .float32_gradients = true, .read = read_time},
    .space = PlanSpace::data_parallel,
    .sharing = {.shards = true,
                .has_mesh = true,
                .cut_again = R"("reshard_after_forward": true)",
                .kept_whole = R"("reshard_after_forward": false)",
                .reduced_each = R"("requires_gradient_sync": true)"},
    .planned = {.on_many = 3},
    .exported = ExportedProgram::plain_loop};

}  // namespace memtape::fsdp2
