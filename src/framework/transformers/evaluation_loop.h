// SPDX-License-Identifier: Apache-2.0
// Trainer.evaluation_loop and prediction_step (transformers 5.17, trainer.py): forwards without
// gradients, their losses gathered, and with a compute_metrics the logits and labels of all batches
// side by side on the GPU until eval_accumulation_steps, or the end, move them to the host.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "framework/transformers/trainer_objective.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

/// Why an evaluation that was asked for is left out of the answer, or nothing: the step's figures
/// stand without it.
std::optional<std::string> evaluation_left_out(const TrainRecipe& recipe);

/// What has to be so for the loop to be modelled.
Result<void> check_evaluation(const TrainRecipe& recipe);

class EvaluationLoop {
 public:
  /// `of_trl`: the trainer's own objective where it is trl's, or null.
  EvaluationLoop(const TrainRecipe& recipe, const family::PretrainedModel& model,
                 TrainerObjective& objective, Objective* of_trl, bool shifts_labels)
      : recipe_(recipe),
        model_(model),
        objective_(objective),
        of_trl_(of_trl),
        shifts_labels_(shifts_labels) {}

  void run() const;

 private:
  /// `logits` are all outputs but the loss; labels are the places of answers, too.
  struct Prediction {
    ghost::Tensor losses;
    std::vector<ghost::Tensor> labels, logits;
  };
  /// EvalLoopContainers.
  struct Containers {
    std::vector<ghost::Tensor> losses, inputs;
    std::vector<std::vector<ghost::Tensor>> labels, logits;
  };

  Prediction prediction_step(const Inputs& inputs) const;
  void add(std::vector<ghost::Tensor>& container, const ghost::Tensor& tensor) const;
  void gather_into(Containers& all, Prediction& predicted, const Inputs& inputs) const;
  bool keeps_logits() const {
    return recipe_.trainer.evaluation.computes_metrics &&
           !recipe_.trainer.evaluation.prediction_loss_only;
  }

  const TrainRecipe& recipe_;
  const family::PretrainedModel& model_;
  TrainerObjective& objective_;
  Objective* of_trl_;
  bool shifts_labels_;
};

}  // namespace memtape::transformers
