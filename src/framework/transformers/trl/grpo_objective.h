// SPDX-License-Identifier: Apache-2.0
// GRPOTrainer._prepare_inputs and _compute_loss (trl 1.16, trainer/grpo_trainer.py): new
// completions are generated every steps_per_generation * num_iterations micro-batches and used
// again in between. The loss weighs the log-probabilities of their tokens.
#pragma once

#include "framework/transformers/objective.h"
#include "framework/transformers/trainer_recipe.h"
#include "framework/transformers/trl/grpo_losses.h"
#include "framework/transformers/trl/grpo_rollout.h"

namespace memtape::transformers::trl {

class GrpoObjective final : public Objective {
 public:
  GrpoObjective(const TrainRecipe& recipe, const PreparedModel& model,
                const PreparedModel* reference)
      : recipe_(recipe),
        grpo_(*trainer_of(recipe).grpo),
        model_(model),
        rollout_(recipe, model, reference) {}

  void prepare_inputs() override;
  ghost::Tensor compute_loss(const Inputs&) override;
  bool counts_items() const override { return false; }
  bool divides_loss() const override { return grpo_.leaves_one_out; }

 private:
  using Tensor = ghost::Tensor;
  struct PolicyTerms {
    Tensor per_token_logps, log_ratio, advantages, off_policy_mask, entropy_mask;
  };
  /// The locals of _compute_loss, which live until it returns.
  struct Locals {
    Clipped clipped;
    Tensor weights;
  };
  Tensor leave_one_out_loss(const Tensor& per_token_logps) const;
  Tensor importance_weights(const Tensor& log_ratio) const;
  Tensor per_token_loss(const PolicyTerms& terms, Locals& kept) const;
  Tensor with_entropy_bonus(const Tensor& loss, const Tensor& entropies,
                            const Tensor& entropy_mask);
  Tensor reduced(const Tensor& per_token_loss) const;

  const TrainRecipe& recipe_;
  const GrpoRecipe& grpo_;
  const PreparedModel& model_;
  GrpoRollout rollout_;
  std::int64_t step_ = 0;
  std::vector<Completions> buffered_inputs_;
  Completions inputs_;           ///< a local of training_step, until the next one
  Tensor entropy_window_stats_;  ///< for the micro-batches of a step, until the last of them
};

}  // namespace memtape::transformers::trl
