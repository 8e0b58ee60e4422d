// SPDX-License-Identifier: Apache-2.0
// CustomKTOTrainer of LLaMA-Factory (0.9.5, train/kto/trainer.py; the loss is kto_loss of trl
// 0.24). Log-probabilities come from whole logits in float32, for each sequence and for a
// mismatched one, under the policy and under the reference. The policy's logits of desirable and of
// undesirable sequences are copied, and live until the loss is logged.
#pragma once

#include "framework/transformers/objective.h"
#include "framework/transformers/prepared_model.h"

namespace memtape::transformers::llama_factory {

/// The `num_items_in_batch` of a batch says whether each sequence is desirable (kto_tags), which
/// half of them are. The mismatched sequences are as long as the others.
class KtoObjective final : public Objective {
 public:
  /// `reference` is the model beside the policy. It is null if adapters are switched off to get it.
  KtoObjective(const PreparedModel& model, const PreparedModel* reference)
      : model_(model), reference_(reference) {}

  ghost::Tensor compute_loss(const Inputs& inputs) override;
  bool counts_items() const override { return false; }

 private:
  /// What concatenated_forward returns.
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
