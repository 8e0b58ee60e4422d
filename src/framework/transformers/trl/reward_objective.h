// SPDX-License-Identifier: Apache-2.0
// RewardTrainer.compute_loss (trl 1.16, trainer/reward_trainer.py) for a model that gives each
// sequence one number (family/parts/classifiers.h). The chosen sequences are the first half of a
// batch, and the rejected ones the second half.
#pragma once

#include "framework/transformers/objective.h"
#include "framework/transformers/prepared_model.h"
#include "framework/transformers/trainer_recipe.h"

namespace memtape::transformers::trl {

class RewardObjective final : public Objective {
 public:
  RewardObjective(const TrainRecipe& recipe, const PreparedModel& model)
      : model_(model),
        ranks_(recipe.layout.gpus),
        centers_rewards_(trainer_of(recipe).reward->centers_rewards) {}

  ghost::Tensor compute_loss(const Inputs& inputs) override;
  bool counts_items() const override { return false; }

 private:
  const PreparedModel& model_;
  std::int64_t ranks_;
  bool centers_rewards_;
};

}  // namespace memtape::transformers::trl
