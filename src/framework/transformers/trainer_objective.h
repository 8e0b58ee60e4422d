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
        averages_tokens_(trainer_of(recipe).averages_tokens_across_devices),
        keeps_outputs_(recipe.program.keeps_outputs) {}

  ghost::Tensor compute_loss(const Inputs& inputs) override {
    family::ModelOutput outputs = compute(inputs);
    if (keeps_outputs_) kept_outputs_ = outputs;
    return outputs.loss;
  }
  void end_step() override { kept_outputs_ = {}; }
  /// compute_loss(return_outputs=True)
  family::ModelOutput compute(const family::Batch& inputs);

 private:
  const PreparedModel& model_;
  bool smooths_labels_, shifts_labels_, averages_tokens_, keeps_outputs_;
  family::ModelOutput kept_outputs_;
};

}  // namespace memtape::transformers
