// SPDX-License-Identifier: Apache-2.0
// KTOTrainer._compute_loss (trl 1.16, trainer/kto_trainer.py): the log-probabilities of desirable
// and undesirable sequences and, for the KL term, of mismatched ones, under the policy and under a
// reference that learns nothing.
#pragma once

#include "framework/transformers/objective.h"
#include "framework/transformers/prepared_model.h"
#include "framework/transformers/trl/fused_lm_head.h"
#include "framework/transformers/trl/trl_recipes.h"

namespace memtape::transformers::trl {

/// What a batch of KTO holds in addition to ids, mask and completion mask: the same for the
/// mismatched sequences, whether each sequence is desirable, and the reference's numbers if they
/// were computed before.
std::vector<ghost::Tensor> kto_extras(const KtoRecipe& kto, std::int64_t rows, std::int64_t length);

/// The `labels` of a batch are the completion mask, and its `num_items_in_batch` says whether each
/// sequence is desirable. The mismatched sequences are as long as the others.
class KtoObjective final : public Objective {
 public:
  /// `reference` is the model beside the policy, or null.
  KtoObjective(const TrainRecipe& recipe, const PreparedModel& model,
               const PreparedModel* reference);

  ghost::Tensor compute_loss(const Inputs& inputs) override;
  bool counts_items() const override { return false; }

 private:
  struct Reference {
    ghost::Tensor kl_logps;
    FusedOutput outputs;
    ghost::Tensor per_token_logps, logps;
  };

  /// _compute_kl_logps of the policy or of the reference.
  template <class Forward>
  ghost::Tensor kl_logps(const family::Batch& inputs, const Forward& forward) const;
  Reference reference_logps(const family::Batch& inputs, const family::Batch& model_inputs) const;

  const PreparedModel& model_;
  const PreparedModel* reference_;
  KtoRecipe kto_;
  std::int64_t ranks_, batch_size_, scored_;
};

}  // namespace memtape::transformers::trl
