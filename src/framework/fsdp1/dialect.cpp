// SPDX-License-Identifier: Apache-2.0
// The plain loop under FullyShardedDataParallel.
#include "framework/torch/dialect.h"

#include "framework/fsdp1/fully_sharded_data_parallel.h"
#include "framework/fsdp1/options.h"
#include "framework/torch/dialect_parts.h"

namespace memtape::fsdp1 {
namespace {

constexpr std::array kAbsent{torch::kNoSchedule};

}  // namespace

extern const Dialect kDialect;
constinit const Dialect kDialect{
    .framework = {.name = "fsdp1",
                  .summary = "the plain loop under torch's FullyShardedDataParallel",
                  .absent = kAbsent,
                  .strategy = read_strategy,
                  .check = torch::check_offloads_all},
    .plan = torch::plan_by<Options, options_of>,
    .ranks = torch::ranks_with<Options, rank_classes>,
    .run = torch::run_with<Options, run_training>,
    .levers = {.cuts_unmade_models = true},
    .time = {.shards = true},
    .space = PlanSpace::data_parallel,
    .sharing = {.shards = true,
                .cut_again = R"("sharding_strategy": "FULL_SHARD")",
                .kept_whole = R"("sharding_strategy": "SHARD_GRAD_OP")"},
    .exported = ExportedProgram::plain_loop};

}  // namespace memtape::fsdp1
