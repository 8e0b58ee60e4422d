// SPDX-License-Identifier: Apache-2.0
// CustomDPOTrainer of LLaMA-Factory (0.9.5, train/dpo/trainer.py, train/trainer_utils.py:
// get_batch_logps; the losses with a reference are dpo_loss of trl 0.24). Log-probabilities come
// from whole logits in float32, which live until the loss is computed. ORPO and SimPO need no
// reference.
#pragma once

#include "framework/transformers/objective.h"
#include "framework/transformers/prepared_model.h"

namespace memtape::transformers::llama_factory {

/// A batch is [2 B, S]: the chosen sequences, and then the rejected ones.
class DpoObjective final : public Objective {
 public:
  /// `reference` is the model beside the policy. It is null if adapters are switched off to get it.
  DpoObjective(const TrainRecipe& recipe, const PreparedModel& model,
               const PreparedModel* reference)
      : model_(model), reference_(reference), program_(recipe.program) {}

  ghost::Tensor compute_loss(const Inputs& inputs) override;
  bool counts_items() const override { return false; }

 private:
  /// What concatenated_forward returns: halves of [2 B, ...].
  struct Scores {
    ghost::Tensor chosen_logps, rejected_logps, chosen_logits, rejected_logits, chosen_logps_avg;
  };

  Scores concatenated_forward(const PreparedModel& model, const family::Batch& inputs) const;
  Scores reference_scores(const family::Batch& inputs) const;
  ghost::Tensor preference_losses(const Scores& policy, const Scores& reference) const;

  const PreparedModel& model_;
  const PreparedModel* reference_;
  const ProgramRecipe& program_;
};

}  // namespace memtape::transformers::llama_factory
