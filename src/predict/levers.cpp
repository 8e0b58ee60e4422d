// SPDX-License-Identifier: Apache-2.0
#include "predict/levers.h"

#include <utility>

#include <fmt/format.h>

#include "framework/dialects.h"
#include "framework/torch/init_device.h"

namespace memtape {
namespace {

/// Whether the model was made whole on a GPU that is to hold a shard of it, and found no room.
bool could_be_cut_first(const TrainRecipe& recipe, const Prediction& failing,
                        const LeverWords& words) {
  return words.cuts_unmade_models && failing.failure && failing.failure->phase == Phase::init &&
         torch::init_device(recipe) == InitDevice::cuda;
}

using OwnLevers = std::vector<Lever> (*)(const TrainRecipe&);

void add_own(std::vector<Lever>& found, const TrainRecipe& recipe, OwnLevers levers) {
  if (!levers) return;
  for (Lever& lever : levers(recipe)) found.push_back(std::move(lever));
}

void add_free(std::vector<Lever>& found, const TrainRecipe& recipe, const Prediction& failing,
              const LeverWords& words) {
  if (could_be_cut_first(recipe, failing, words))
    found.push_back(
        {{{"init-device", "meta"}}, "none: the model is cut before it takes memory", true});
  if (recipe.attention == AttentionChoice::eager)
    found.push_back({{{"attention", std::string(words.fused_attention)}},
                     "none: the same result by a fused kernel",
                     true});
  add_own(found, recipe, words.sharing);
  const bool is_adamw = recipe.optimizer == OptimizerName::adamw &&
                        recipe.optimizer_impl != OptimizerImpl::fused && !recipe.bitsandbytes_optim;
  if (is_adamw) add_own(found, recipe, words.fused_optimizer);
}

/// As many sequences a step in smaller micro-batches.
void add_micro_batches(std::vector<Lever>& found, const TrainRecipe& recipe,
                       const LeverWords& words) {
  const std::int64_t all = recipe.micro_batch_size * recipe.gradient_accumulation;
  for (std::int64_t size = recipe.micro_batch_size / 2; size > 0; size /= 2) {
    if (all % size != 0) continue;
    Lever lever{{{std::string(words.micro_batch), fmt::format("{}", size)}},
                "smaller kernels, the same tokens a step"};
    if (!recipe.global_batch_size)
      lever.changes.emplace_back(words.accumulation, fmt::format("{}", all / size));
    found.push_back(std::move(lever));
  }
}

}  // namespace

Levers levers_of(const TrainRecipe& recipe, const Prediction& failing) {
  std::vector<Lever> found;
  const LeverWords& words = dialect_of(recipe).levers;
  add_free(found, recipe, failing, words);
  if (recipe.checkpointing == Checkpointing::none)
    found.push_back(
        {{{std::string(words.checkpointing.first), std::string(words.checkpointing.second)}},
         "about a third more compute"});
  add_micro_batches(found, recipe, words);
  const std::size_t first_holding_less = found.size();
  add_own(found, recipe, words.smaller_states);
  if (recipe.layout.offload.empty() || recipe.layout.offload == "none")
    found.push_back(
        {{{"offload", "all"}}, "parameters and optimizer state travel from and to host memory"});
  add_own(found, recipe, words.adapters);
  const std::size_t first_shorter = found.size();
  for (std::int64_t tokens = recipe.sequence_length / 2; tokens >= 512; tokens /= 2)
    found.push_back({{{"sequence-length", fmt::format("{}", tokens)}}, "shorter sequences"});
  return {std::move(found), first_holding_less, first_shorter};
}

}  // namespace memtape
