// SPDX-License-Identifier: Apache-2.0
// Trainer.evaluation_loop and prediction_step (transformers 5.17, trainer.py): forwards without
// gradients, their losses gathered, and with a compute_metrics the logits and labels of all batches
// side by side on the GPU until eval_accumulation_steps, or the end, move them to the host.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "framework/transformers/trainer_objective.h"
#include "workload/train_recipe.h"

namespace memtape::transformers {

/// Why an evaluation that was asked for is left out of the answer, or nothing: the step's figures
/// stand without it.
std::optional<std::string> evaluation_left_out(const TrainRecipe& recipe);

/// What has to be so for the loop to be modelled.
Result<void> check_evaluation(const TrainRecipe& recipe);

class EvaluationLoop {
 public:
  EvaluationLoop(const TrainRecipe& recipe, const family::PretrainedModel& model,
                 TrainerObjective& objective, bool shifts_labels)
      : recipe_(recipe), model_(model), objective_(objective), shifts_labels_(shifts_labels) {}

  void run() const;

 private:
  struct Prediction {
    ghost::Tensor losses, logits, labels;
  };
  /// EvalLoopContainers.
  struct Containers {
    std::vector<ghost::Tensor> losses, logits, labels, inputs;
  };

  Prediction prediction_step(const family::Batch& inputs) const;
  void add(std::vector<ghost::Tensor>& container, const ghost::Tensor& tensor) const;
  void gather_into(Containers& all, Prediction& predicted, const family::Batch& inputs) const;
  bool keeps_logits() const {
    return recipe_.trainer.evaluation.computes_metrics &&
           !recipe_.trainer.evaluation.prediction_loss_only;
  }

  const TrainRecipe& recipe_;
  const family::PretrainedModel& model_;
  TrainerObjective& objective_;
  bool shifts_labels_;
};

}  // namespace memtape::transformers
