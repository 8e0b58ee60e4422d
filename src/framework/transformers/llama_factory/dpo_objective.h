// SPDX-License-Identifier: Apache-2.0
// LLaMA-Factory's CustomDPOTrainer (0.9.5, train/dpo/trainer.py, train/trainer_utils.py:
// get_batch_logps; the losses of a reference are trl 0.24's dpo_loss): log-probabilities out of
// whole logits in float32, which live until the loss is made. ORPO and SimPO go without a
// reference.
#pragma once

#include "framework/transformers/objective.h"
#include "framework/transformers/prepared_model.h"

namespace memtape::transformers::llama_factory {

/// A batch is [2 B, S]: the chosen sequences, then the rejected ones.
class DpoObjective final : public Objective {
 public:
  /// `reference`: the model beside the policy, or null where adapters are switched off for it.
  DpoObjective(const TrainRecipe& recipe, const PreparedModel& model,
               const PreparedModel* reference)
      : model_(model), reference_(reference), program_(recipe.program) {}

  ghost::Tensor compute_loss(const Inputs& inputs) override;
  bool counts_items() const override { return false; }

 private:
  /// What concatenated_forward gives; halves of [2 B, ...].
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
