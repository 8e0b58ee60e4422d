// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/lever.h"

#include "workload/train_recipe.h"

namespace memtape {

std::vector<Lever> fused_by_torch(const TrainRecipe&) {
  return {{{{"optimizer-impl", "fused"}}, "none: the same update by one kernel", true}};
}

std::vector<Lever> adapters_by_rank(const TrainRecipe& recipe) {
  if (recipe.lora) return {};
  return {{{{"lora-rank", "16"}, {"lora-targets", "all-linear"}},
           "trains adapters instead of all weights"}};
}

}  // namespace memtape
