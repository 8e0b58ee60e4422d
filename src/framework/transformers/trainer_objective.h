// SPDX-License-Identifier: Apache-2.0
// Trainer.compute_loss (transformers 5.17, trainer.py): the model's own loss, or the label
// smoother's.
#pragma once

#include "framework/transformers/objective.h"
#include "framework/transformers/prepared_model.h"
#include "framework/transformers/trainer_recipe.h"

namespace memtape::transformers {

class TrainerObjective final : public Objective {
 public:
  TrainerObjective(const TrainRecipe& recipe, const PreparedModel& model)
      : model_(model),
        smooths_labels_(trainer_of(recipe).label_smoothing_factor != 0.0),
        shifts_labels_(recipe.task == Task::causal_lm),
        averages_tokens_(trainer_of(recipe).averages_tokens_across_devices) {}

  ghost::Tensor compute_loss(const Inputs& inputs) override { return compute(inputs).loss; }
  /// compute_loss(return_outputs=True)
  family::ModelOutput compute(const family::Batch& inputs);

 private:
  const PreparedModel& model_;
  bool smooths_labels_, shifts_labels_, averages_tokens_;
};

}  // namespace memtape::transformers
