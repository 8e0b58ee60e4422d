// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/dialect_parts.h"

#include <algorithm>

#include "framework/torch/strategy.h"

namespace memtape::torch {
std::vector<Package> packages_of_families(const TrainRecipe& recipe) {
  std::vector<Package> packages{Package::torch, Package::transformers};
  if (recipe.lora) packages.push_back(Package::peft);
  return packages;
}

Result<std::int64_t> data_ranks(const Config&, const TrainRecipe& recipe) {
  const LayoutRecipe& layout = recipe.layout;
  const std::int64_t model = layout.tp.value_or(1) * layout.pp.value_or(1) * layout.cp.value_or(1);
  return std::max<std::int64_t>(1, layout.gpus / model);
}

Result<std::int64_t> one_data_rank(const Config&, const TrainRecipe&) { return 1; }

Result<TrainPlanPointer> plan_without_options(const Config&, const TrainRecipe& recipe) {
  return plain_plan(recipe);
}

Result<void> check_offloads_all(std::span<const NamedValue>, const TrainRecipe& recipe) {
  const std::string& offload = recipe.layout.offload;
  if (offload.empty() || offload == "none" || offload == "all") return {};
  return bad_input("FSDP's CPUOffload takes parameters, gradients and optimizer together",
                   "--offload", "all");
}

Result<std::vector<RankClass>> alike_ranks(const TrainPlan& plan, const Config&) {
  return all_alike(plan.common.layout);
}

}  // namespace memtape::torch
