// SPDX-License-Identifier: Apache-2.0
// LLaMA-Factory's CustomKTOTrainer (0.9.5, train/kto/trainer.py; the loss is trl 0.24's kto_loss):
// log-probabilities out of whole logits in float32, of each sequence and of a mismatched one, under
// the policy and under the reference. The logits of the policy's desirable and undesirable
// sequences are copied out and live until the loss is logged.
#pragma once

#include "framework/transformers/objective.h"
#include "framework/transformers/prepared_model.h"

namespace memtape::transformers::llama_factory {

/// A batch's `num_items_in_batch` says whether each sequence is desirable (kto_tags): half of them
/// are. The mismatched sequences are as long as the others.
class KtoObjective final : public Objective {
 public:
  /// `reference`: the model beside the policy, or null where adapters are switched off for it.
  KtoObjective(const PreparedModel& model, const PreparedModel* reference)
      : model_(model), reference_(reference) {}

  ghost::Tensor compute_loss(const Inputs& inputs) override;
  bool counts_items() const override { return false; }

 private:
  /// What concatenated_forward gives.
  struct Scores {
    ghost::Tensor chosen_logps, rejected_logps, chosen_logits, rejected_logits, kl_logps,
        chosen_logps_avg;
  };

  static Scores concatenated_forward(const PreparedModel& model, const Inputs& inputs);
  Scores reference_scores(const Inputs& inputs) const;

  const PreparedModel& model_;
  const PreparedModel* reference_;
};

}  // namespace memtape::transformers::llama_factory
