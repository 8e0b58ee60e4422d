// SPDX-License-Identifier: Apache-2.0
// litgpt's finetuning step under Lightning Fabric.
#include "framework/torch/dialect.h"

#include "framework/litgpt/adapters.h"
#include "framework/litgpt/finetune.h"
#include "framework/torch/dialect_parts.h"

namespace memtape::litgpt {
namespace {

/// litgpt calls scaled_dot_product_attention, whose kernel torch chooses.
Result<void> check_options(std::span<const NamedValue>, const TrainRecipe& recipe) {
  if (recipe.attention == AttentionChoice::sdpa) return {};
  return has_none(*recipe.framework, "attention but torch's", "attention", "sdpa");
}

std::vector<Package> packages_of_program(const TrainRecipe&) {
  return {Package::torch, Package::litgpt};
}

TrainRecipe settle(TrainRecipe recipe, const Config&) { return resolved(std::move(recipe)); }

}  // namespace

extern const Dialect kDialect;
constinit const Dialect kDialect{
    .framework = {.name = "litgpt",
                  .summary = "litgpt's finetuning, of all weights or of adapters",
                  .takes = {.quantize = true},
                  .absent = torch::kAbsentOfFinetuning,
                  .strategy = read_strategy,
                  .check = check_options},
    .tasks = torch::kLanguageTasks,
    .packages = packages_of_program,
    .settle = settle,
    .ranks = rank_classes,
    .run = run_training};

}  // namespace memtape::litgpt
