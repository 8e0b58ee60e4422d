// SPDX-License-Identifier: Apache-2.0
// TrainPlan: what a request means to one framework, with every default decided. It is made once
// from the recipe and the model's configuration, is shared by all ranks, and never changes. No rank
// reads the text of an option again.
#pragma once

#include <memory>
#include <utility>

#include "base/result.h"
#include "workload/train_recipe.h"

namespace memtape {

struct TrainPlan {
  explicit TrainPlan(TrainRecipe recipe) : common(std::move(recipe)) {}
  virtual ~TrainPlan() = default;
  TrainPlan(const TrainPlan&) = delete;
  TrainPlan& operator=(const TrainPlan&) = delete;

  const TrainRecipe common;  ///< the part that all frameworks share
};
using TrainPlanPointer = std::shared_ptr<const TrainPlan>;

/// A plan with the options that only its framework has.
template <class Own>
struct PlanWith final : TrainPlan {
  PlanWith(TrainRecipe recipe, Own options)
      : TrainPlan(std::move(recipe)), own(std::move(options)) {}

  const Own own;
};

/// The plan of a framework that has no options of its own.
inline Result<TrainPlanPointer> plain_plan(TrainRecipe recipe) {
  return std::make_shared<const TrainPlan>(std::move(recipe));
}

/// The plan of a framework whose own options have been read, or the reason why they cannot be read.
template <class Own>
Result<TrainPlanPointer> plan_with(TrainRecipe recipe, Result<Own> own) {
  if (!own) return tl::unexpected(own.error());
  return std::make_shared<const PlanWith<Own>>(std::move(recipe), std::move(*own));
}

/// A framework's own options, from a plan that it made with `plan_with`.
template <class Own>
const Own& own_options(const TrainPlan& plan) {
  return static_cast<const PlanWith<Own>&>(plan).own;
}

}  // namespace memtape
