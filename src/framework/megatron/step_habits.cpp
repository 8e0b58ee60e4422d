// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/step_habits.h"

#include "framework/megatron/strategy.h"
#include "workload/train_recipe.h"

namespace memtape::megatron {

void read_time(const TrainRecipe& recipe, time::TrainSetup& setup) {
  using time::Compute;
  const Strategy& said = strategy_of(recipe);
  setup.overlaps_gradients = said.ddp.overlap_grad_reduce;
  setup.overlaps_parameters = said.ddp.overlap_param_gather;
  setup.fast_dispatch = said.moe_token_dispatcher_type == "flex";
  if (recipe.eight_bits && !said.arguments.has("fp8"))
    setup.compute = recipe.eight_bits == EightBits::mxfp8 ? Compute::mxfp8 : Compute::fp8;
  if (!said.fp8.value_or("").empty())
    setup.compute = said.fp8_recipe == "mxfp8" ? Compute::mxfp8 : Compute::fp8;
}

}  // namespace memtape::megatron
