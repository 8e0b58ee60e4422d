// SPDX-License-Identifier: Apache-2.0
// The plain loop over models cut by DTensor's tensor parallel plans.
#include "framework/torch/dialect.h"

#include "framework/torch/dialect_parts.h"
#include "framework/torch_tp/options.h"
#include "framework/torch_tp/parallelize.h"

namespace memtape::torch_tp {
namespace {

constexpr std::array kAbsent{torch::kNoSchedule, torch::kNoOffload};

Result<void> check_options(std::span<const NamedValue>, const TrainRecipe& recipe) {
  if (recipe.init_device != InitDevice::cpu) return {};
  return has_none(*recipe.framework, "such way to make its model that is modelled", "init-device",
                  "cuda or meta");
}

Result<std::int64_t> data_ranks(const Config& config, const TrainRecipe& recipe) {
  const auto options = options_of(config, recipe);
  if (!options) return tl::unexpected(options.error());
  return std::max<std::int64_t>(1, recipe.layout.gpus / options->size);
}

}  // namespace

extern const Dialect kDialect;
constinit const Dialect kDialect{
    .framework = {.name = "torch-tp",
                  .summary = "the plain loop under DTensor's tensor parallel plans",
                  .absent = kAbsent,
                  .strategy = read_strategy,
                  .check = check_options},
    .tasks = torch::kTextTasks,
    .data_ranks = data_ranks,
    .plan = torch::plan_by<Options, options_of>,
    .ranks = torch::ranks_with<Options, rank_classes>,
    .run = torch::run_with<Options, run_training>,
    .spreads_over = MeshAxis::tensor,
    .levers = {.cuts_unmade_models = true}};

}  // namespace memtape::torch_tp
