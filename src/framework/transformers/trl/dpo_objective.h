// SPDX-License-Identifier: Apache-2.0
// DPOTrainer._compute_loss (trl 1.16, trainer/dpo_trainer.py): the log-probabilities of chosen and
// rejected sequences, which are one batch, under the policy and under a reference that learns
// nothing. The reference is a separate model, the policy with its adapters switched off, or numbers
// that were computed before training.
#pragma once

#include <memory>
#include <optional>

#include "framework/transformers/objective.h"
#include "framework/transformers/prepared_model.h"
#include "framework/transformers/trl/fused_lm_head.h"
#include "framework/transformers/trl/trl_recipes.h"

namespace memtape::transformers::trl {

/// A batch of DPO is [2 B, S]. Its `labels` are the completion mask. If the reference's
/// log-probabilities [B] were computed before, they are its `num_items_in_batch`.
class DpoObjective final : public Objective {
 public:
  /// `reference` is the model beside the policy, or null.
  DpoObjective(const TrainRecipe& recipe, const PreparedModel& model,
               const PreparedModel* reference);

  ghost::Tensor compute_loss(const Inputs& inputs) override;
  bool counts_items() const override { return false; }

 private:
  FusedOutput reference_outputs(const family::Batch& model_inputs) const;
  std::int64_t scored_of(const family::Batch& inputs) const;

  const PreparedModel& model_;
  const PreparedModel* reference_;
  DpoRecipe dpo_;
  std::int64_t ranks_, batch_size_;
  std::optional<std::int64_t> scored_;  ///< the labels of a training batch that count; not set: all
  bool balances_experts_;
};

}  // namespace memtape::transformers::trl
