// SPDX-License-Identifier: Apache-2.0
#include "predict/advice.h"

#include <algorithm>

#include <fmt/format.h>

#include "framework/torch/init_device.h"

namespace memtape {
namespace {

struct Remedy {
  std::string flags, cost;
  TrainRecipe recipe;
};

/// Whether the model was made whole on a GPU that is to hold a shard of it, and found no room.
bool could_be_cut_first(const TrainRecipe& recipe, const Prediction& failing) {
  return failing.failure && failing.failure->phase == Phase::init &&
         torch::init_device(recipe) == InitDevice::cuda &&
         (recipe.framework == Framework::fsdp1 || recipe.framework == Framework::fsdp2 ||
          recipe.framework == Framework::torch_tp);
}

/// Single changes and their useful sums, in order of what they cost the user.
std::vector<Remedy> remedies(const TrainRecipe& recipe, const Prediction& failing) {
  std::vector<Remedy> found;
  TrainRecipe so_far = recipe;
  std::string flags;
  const auto add = [&](std::string flag, std::string cost) {
    flags += flags.empty() ? flag : " " + flag;
    found.push_back({flags, std::move(cost), so_far});
  };
  const bool is_megatron = recipe.framework == Framework::megatron_core;
  if (could_be_cut_first(recipe, failing)) {
    so_far.init_device = InitDevice::meta;
    add("--init-device meta", "none: the model is cut before it takes memory");
  }
  if (recipe.attention == AttentionChoice::eager) {
    so_far.attention = is_megatron ? AttentionChoice::flash : AttentionChoice::sdpa;
    if (is_megatron) so_far.optimizer_impl = OptimizerImpl::fused;
    add(is_megatron ? "--attention flash" : "--attention sdpa",
        "none: the same result by a fused kernel");
  }
  if (is_megatron && recipe.layout.gpus > 1 && recipe.layout.zero.value_or(0) == 0) {
    so_far.layout.zero = 1;
    add("--zero 1", "none: each data rank updates a shard of the parameters");
  }
  if (recipe.optimizer == OptimizerName::adamw && so_far.optimizer_impl != OptimizerImpl::fused) {
    so_far.optimizer_impl = OptimizerImpl::fused;
    add("--optimizer-impl fused", "none: the same update by one kernel");
  }
  if (recipe.checkpointing == Checkpointing::none) {
    so_far.checkpointing = Checkpointing::full;
    add("--gradient-checkpointing full", "about a third more compute");
  }
  while (so_far.micro_batch_size > 1) {
    so_far.micro_batch_size /= 2;
    so_far.gradient_accumulation *= 2;
    found.push_back({fmt::format("{}{}--micro-batch-size {} --gradient-accumulation {}", flags,
                                 flags.empty() ? "" : " ", so_far.micro_batch_size,
                                 so_far.gradient_accumulation),
                     "smaller kernels, the same tokens a step", so_far});
  }
  if (!recipe.lora && !is_megatron) {
    so_far.lora.emplace();
    so_far.lora->rank = 16;
    so_far.lora->targets = {"all-linear"};
    found.push_back(
        {fmt::format("{}{}--micro-batch-size {} --lora-rank 16 --lora-targets all-linear", flags,
                     flags.empty() ? "" : " ", so_far.micro_batch_size),
         "trains adapters instead of all weights", so_far});
  }
  return found;
}

}  // namespace

std::vector<Advice> advise(const ModelRequest& model, const TrainRecipe& recipe,
                           const DeviceSetup& device, const Prediction& failing) {
  Bytes peak = 0;
  for (const RankReport& rank : failing.ranks) peak = std::max(peak, rank.peak_device_bytes);
  std::vector<Advice> fitting, lower;
  for (const Remedy& change : remedies(recipe, failing)) {
    const Result<TrainAnswer> answer =
        predict_train(model, change.recipe, device, {.largest = 0, .advise = false});
    if (!answer) continue;
    Bytes changed = 0;
    for (const RankReport& rank : answer->prediction.ranks)
      changed = std::max(changed, rank.peak_device_bytes);
    if (answer->prediction.fits.value_or(false)) {
      fitting.push_back({change.flags, changed, change.cost, true});
      break;
    }
    if (changed < peak) lower.push_back({change.flags, changed, change.cost, false});
  }
  fitting.insert(fitting.end(), lower.begin(), lower.end());
  return fitting;
}

}  // namespace memtape
