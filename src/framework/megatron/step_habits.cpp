// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/step_habits.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/comma_list.h"
#include "framework/megatron/strategy.h"
#include "workload/train_recipe.h"

namespace memtape::megatron {

std::string recompute_modules_member(std::string_view modules) {
  return fmt::format(R"("recompute_modules": ["{}"])",
                     fmt::join(split_at_commas(modules), R"(", ")"));
}

std::string recompute_layers_members(std::int64_t layers) {
  return fmt::format(R"("recompute_method": "block", "recompute_num_layers": {})", layers);
}

void read_time(const TrainRecipe& recipe, time::TrainSetup& setup) {
  using time::Compute;
  const Strategy& said = strategy_of(recipe);
  setup.overlaps_gradients = said.ddp.overlap_grad_reduce;
  setup.overlaps_parameters = said.ddp.overlap_param_gather;
  setup.fast_dispatch = said.moe_token_dispatcher_type == "flex";
  if (setup.recompute.kind == time::Recompute::Kind::selective && said.recompute_modules) {
    setup.recompute = {.kind = time::Recompute::Kind::selective};
    for (const std::string& module : *said.recompute_modules) setup.recompute.add_module(module);
  }
  if (recipe.low_bits && !said.arguments.has("fp8") && !said.arguments.has("fp4"))
    setup.compute = time::compute_of(*recipe.low_bits);
  if (!said.fp8.value_or("").empty())
    setup.compute = said.fp8_recipe == "mxfp8" ? Compute::mxfp8 : Compute::fp8;
  if (!said.fp4.value_or("").empty()) setup.compute = Compute::nvfp4;
  constexpr double kAdaptable = 4;  // qkv, proj, fc1 and fc2
  if (recipe.lora && !recipe.lora->targets.empty() && recipe.lora->targets.front() != "all-linear")
    setup.adapted = std::min(1.0, static_cast<double>(recipe.lora->targets.size()) / kAdaptable);
}

}  // namespace memtape::megatron
