// SPDX-License-Identifier: Apache-2.0
// What the dialects of several frameworks share beside the defaults of Dialect: the options that
// they do not have, and how options become a plan and a plan is handed to a program.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "framework/torch/dialect.h"

namespace memtape::torch {

// Options for which several frameworks have no use.
inline constexpr AbsentOption kNoSchedule{"schedule", "pipeline schedule",
                                          "--framework torch-pp or megatron-core"};
inline constexpr AbsentOption kNoOffload{"offload", "offloading that is modelled",
                                         "--framework deepspeed, fsdp1 or fsdp2"};
inline constexpr AbsentOption kNoInitDevice{"init-device", "choice of where its model is made"};
inline constexpr AbsentOption kNoFreezing{"freeze", "parameters frozen by name"};
inline constexpr AbsentOption kNoTrainedLayers{"train-last-layers", "layers that are not trained"};
inline constexpr AbsentOption kNoUpcasting{"upcast-trained", "layers that are not trained"};
/// Those for which programs that finetune a whole model, or its adapters, on one GPU have none.
inline constexpr std::array kAbsentOfFinetuning{kNoTrainedLayers, kNoUpcasting,  kNoSchedule,
                                                kNoOffload,       kNoInitDevice, kNoFreezing};

/// The plan with the framework's own options, which `read` reads.
template <class Own, Result<Own> (*read)(const TrainRecipe&)>
Result<TrainPlanPointer> plan_by(const Config&, const TrainRecipe& recipe) {
  return plan_with(recipe, read(recipe));
}
template <class Own, Result<Own> (*read)(const Config&, const TrainRecipe&)>
Result<TrainPlanPointer> plan_by(const Config& config, const TrainRecipe& recipe) {
  return plan_with(recipe, read(config, recipe));
}

/// The classes of ranks that `classes` makes by the framework's own options in the plan.
template <class Own,
          Result<std::vector<RankClass>> (*classes)(const Config&, const TrainRecipe&, const Own&)>
Result<std::vector<RankClass>> ranks_with(const TrainPlan& plan, const Config& config) {
  return classes(config, plan.common, own_options<Own>(plan));
}

template <class Own, Result<std::vector<RankClass>> (*classes)(const TrainRecipe&, const Own&)>
Result<std::vector<RankClass>> ranks_with(const TrainPlan& plan, const Config&) {
  return classes(plan.common, own_options<Own>(plan));
}

/// Runs one rank of `program`, which takes the framework's own options in addition to the recipe.
template <class Own, Result<TrainRun> (*program)(const Config&, const TrainRecipe&, const Own&,
                                                 const ghost::DeviceTraits&, int rank)>
Result<TrainRun> run_with(const TrainPlan& plan, const Config& config,
                          const ghost::DeviceTraits& device, int rank) {
  return program(config, plan.common, own_options<Own>(plan), device, rank);
}
/// The same if the framework's own options hold what the configuration says.
template <class Own, Result<TrainRun> (*program)(const TrainRecipe&, const Own&,
                                                 const ghost::DeviceTraits&, int rank)>
Result<TrainRun> run_with(const TrainPlan& plan, const Config&, const ghost::DeviceTraits& device,
                          int rank) {
  return program(plan.common, own_options<Own>(plan), device, rank);
}
/// Runs a program all of whose ranks are alike.
template <Result<TrainRun> (*program)(const Config&, const TrainRecipe&,
                                      const ghost::DeviceTraits&)>
Result<TrainRun> run_alike(const TrainPlan& plan, const Config& config,
                           const ghost::DeviceTraits& device, int) {
  return program(config, plan.common, device);
}

/// FSDP moves parameters, gradients and optimizer together (torch's CPUOffload and
/// CPUOffloadPolicy), so this is an error if --offload names a part of them.
Result<void> check_offloads_all(std::span<const NamedValue> options, const TrainRecipe& recipe);

}  // namespace memtape::torch
