// SPDX-License-Identifier: Apache-2.0
// get_batch_loss_metrics of CPOTrainer and ORPOTrainer (trl 1.16, experimental/cpo/cpo_trainer.py,
// experimental/orpo/orpo_trainer.py): chosen and rejected sequences go through the model together,
// which gives all their logits, the log-probabilities of the completions, and the likelihood of the
// chosen ones.
#pragma once

#include "framework/transformers/objective.h"
#include "framework/transformers/prepared_model.h"
#include "framework/transformers/trainer_recipe.h"
#include "framework/transformers/trl/pair.h"

namespace memtape::transformers::trl {

/// A batch of DPODataCollatorWithPadding (experimental/utils.py): ids, mask and labels of `rows`
/// chosen sequences, the same of the rejected ones, and then ids and mask of their prompts.
Inputs paired_inputs(const TrainRecipe& recipe, std::int64_t rows);

class CpoObjective final : public Objective {
 public:
  CpoObjective(const TrainRecipe& recipe, const PreparedModel& model)
      : model_(model), cpo_(*trainer_of(recipe).cpo), ranks_(recipe.layout.gpus) {}

  ghost::Tensor compute_loss(const Inputs& inputs) override;
  bool counts_items() const override { return false; }

 private:
  /// What concatenated_forward returns.
  struct Forwarded {
    Pair logps, logits;
    ghost::Tensor nll_loss;
  };
  /// What the loss functions return in addition to the losses.
  struct Scores {
    ghost::Tensor losses, chosen_rewards, rejected_rewards;
    std::vector<ghost::Tensor> logged;  ///< the means of ORPO's ratios
  };

  Forwarded concatenated_forward(const Inputs& inputs) const;
  ghost::Tensor loss_of_chosen(const ghost::Tensor& all_logits, const ghost::Tensor& labels) const;
  ghost::Tensor batch_logps(const ghost::Tensor& all_logits, const ghost::Tensor& all_labels) const;
  Scores odds_ratio_loss(const Pair& logps) const;
  Scores cpo_loss(const Pair& logps) const;
  ghost::Tensor losses_of(ghost::Tensor logits) const;
  void log_metrics(const Forwarded& forwarded, const Scores& scores) const;

  const PreparedModel& model_;
  CpoRecipe cpo_;
  std::int64_t ranks_;
};

}  // namespace memtape::transformers::trl
