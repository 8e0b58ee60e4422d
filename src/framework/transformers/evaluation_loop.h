// SPDX-License-Identifier: Apache-2.0
// Trainer.evaluation_loop and prediction_step (transformers 5.17, trainer.py): forwards without
// gradients, whose losses are gathered. With a compute_metrics, the logits and labels of all
// batches stay on the GPU until eval_accumulation_steps, or the end of the loop, moves them to the
// host.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "framework/transformers/trainer_objective.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

/// Why an evaluation that was asked for is left out of the answer, whose figures are those of the
/// step without it. It is empty if nothing is left out.
std::optional<std::string> evaluation_left_out(const TrainRecipe& recipe);

/// Checks the conditions under which the loop is modelled.
Result<void> check_evaluation(const TrainRecipe& recipe);

class EvaluationLoop {
 public:
  /// `of_trl` is the trainer's own objective if it is one of trl's; else it is null.
  EvaluationLoop(const TrainRecipe& recipe, const family::PretrainedModel& model,
                 TrainerObjective& objective, Objective* of_trl, bool shifts_labels)
      : recipe_(recipe),
        model_(model),
        objective_(objective),
        of_trl_(of_trl),
        shifts_labels_(shifts_labels) {}

  void run() const;

 private:
  /// `logits` are all outputs except the loss. `labels` may be the places of answers.
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
    return recipe_.evaluation.computes_metrics && !recipe_.evaluation.prediction_loss_only;
  }

  const TrainRecipe& recipe_;
  const family::PretrainedModel& model_;
  TrainerObjective& objective_;
  Objective* of_trl_;
  bool shifts_labels_;
};

}  // namespace memtape::transformers
