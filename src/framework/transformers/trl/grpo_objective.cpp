// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trl/grpo_objective.h"

#include "framework/transformers/trl/grpo_losses.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/session.h"

namespace memtape::transformers::trl {

using ghost::Tensor;

void GrpoObjective::prepare_inputs() {
  const std::int64_t steps = *grpo_.steps_per_generation;
  if (step_ % (steps * grpo_.num_iterations) == 0) buffered_inputs_ = rollout_.generate_and_score();
  inputs_ = buffered_inputs_[static_cast<std::size_t>(step_ % steps)];
  ++step_;
}

/// RLOOTrainer._compute_loss (trl 1.16, trainer/rloo_trainer.py): of whole sequences.
Tensor GrpoObjective::leave_one_out_loss(const Tensor& per_token_logps) const {
  const Tensor logps = per_token_logps.mul(inputs_.completion_mask).sum(1);
  const Tensor log_ratio = logps.sub(inputs_.old_per_token_logps);
  Tensor coef_1 = ghost::exp(log_ratio);
  Clipped kept;
  return clipped_loss(coef_1, inputs_.advantages, false, kept).mean(0);
}

Tensor GrpoObjective::importance_weights(const Tensor& log_ratio) const {
  if (!grpo_.per_sequence) return log_ratio;
  const Tensor& mask = inputs_.completion_mask;
  const Tensor summed = log_ratio.mul(mask).sum(-1);
  return summed.div(at_least_one(mask.sum(-1))).unsqueeze(-1);
}

/// The mean over what loss_type counts.
Tensor GrpoObjective::reduced(const Tensor& per_token_loss) const {
  const Tensor& mask = inputs_.completion_mask;
  const std::string& type = grpo_.loss_type;
  if (type == "grpo" || type == "sapo") {
    const Tensor summed = per_token_loss.mul(mask).sum(-1);
    return summed.div(at_least_one(mask.sum(-1))).mean(0).div(1.0);
  }
  if (type == "luspo") return per_token_loss.mul(mask).sum(-1).mean(0).div(1.0);
  if (type == "bnpo") {
    const Tensor summed = ghost::sum_all(per_token_loss.mul(mask));
    return summed.div(at_least_one(ghost::sum_all(mask))).div(1.0);
  }
  if (type == "dr_grpo") return ghost::sum_all(per_token_loss.mul(mask)).div(1.0).div(1.0);
  const Tensor normalizer = at_least_one(inputs_.num_items_in_batch)
                                .div(ghost::kScale)
                                .mul(ghost::kScale)
                                .div(ghost::kScale);  // cispo, dapo and vespo
  return ghost::sum_all(per_token_loss.mul(mask)).div(normalizer);
}

/// What a token costs before it is reduced, and masks that go with it.
Tensor GrpoObjective::per_token_loss(const PolicyTerms& terms, Locals& kept) const {
  Tensor coef_1 = ghost::exp(importance_weights(terms.log_ratio));
  Tensor per_token_kl;
  if (grpo_.beta != 0.0)
    per_token_kl = kl_divergence(inputs_.ref_per_token_logps, terms.per_token_logps);
  if (per_token_kl.defined() && grpo_.corrects_bias_of_kl) per_token_kl = per_token_kl.mul(coef_1);
  Tensor loss;
  if (grpo_.loss_type == "cispo") {
    kept.weights = ghost::clamp(coef_1, {.max = ghost::kLimit}).detach();
    loss = kept.weights.neg().mul(terms.advantages).mul(terms.per_token_logps);
  } else if (grpo_.loss_type == "vespo") {
    kept.weights = gamma_weights(terms.advantages, terms.log_ratio, inputs_.completion_mask);
    loss = kept.weights.neg().mul(terms.advantages).mul(terms.per_token_logps);
  } else if (grpo_.loss_type == "sapo") {
    loss = soft_gated_loss(coef_1, terms.advantages);
  } else {
    loss = clipped_loss(coef_1, terms.advantages, grpo_.clips_two_sided, kept.clipped);
  }
  if (terms.off_policy_mask.defined()) loss = loss.mul(terms.off_policy_mask);
  if (terms.entropy_mask.defined()) loss = loss.mul(terms.entropy_mask);
  if (per_token_kl.defined()) loss = loss.add(per_token_kl.mul(0.5));
  return loss;
}

/// The mean entropy of the tokens that count, taken off the loss. An adaptive coefficient sums it
/// over the micro-batches of a step.
Tensor GrpoObjective::with_entropy_bonus(const Tensor& loss, const Tensor& entropies,
                                         const Tensor& entropy_mask) {
  const Tensor mask =
      entropy_mask.defined() ? inputs_.completion_mask.mul(entropy_mask) : inputs_.completion_mask;
  const Tensor summed = ghost::sum_all(entropies.mul(mask));
  const Tensor entropy_loss = summed.div(at_least_one(ghost::sum_all(mask))).div(1.0);
  const Tensor with_bonus = loss.sub(entropy_loss.mul(0.5));
  if (!grpo_.adapts_entropy_bonus) return with_bonus;
  const ghost::GradMode no_grad(false);
  const Tensor entropy_sum = ghost::sum_all(entropies.mul(mask));
  const Tensor stats =
      ghost::cat({entropy_sum.unsqueeze(0), ghost::sum_all(mask).to_float().unsqueeze(0)}, 0);
  entropy_window_stats_ =
      entropy_window_stats_.defined() ? entropy_window_stats_.add(stats) : stats;
  if (step_ % recipe_.gradient_accumulation == 0) entropy_window_stats_.reset();
  return with_bonus;
}

Tensor GrpoObjective::compute_loss(const Inputs&) {
  const Tensor input_ids = ghost::cat({inputs_.prompt_ids, inputs_.completion_ids}, 1);
  const Tensor attention_mask = ghost::cat({inputs_.prompt_mask, inputs_.completion_mask}, 1);
  const TokenScores scores = score_tokens(model_, input_ids, attention_mask,
                                          {.logits_to_keep = grpo_.max_completion_length,
                                           .batch_size = input_ids.size(0),
                                           .scored = recipe_.scored_tokens,
                                           .wants_entropy = true,
                                           .callee = PreparedModel::Callee::model_wrapped});
  if (grpo_.leaves_one_out) return leave_one_out_loss(scores.logps);
  const Tensor& mask = inputs_.completion_mask;
  PolicyTerms terms;
  terms.per_token_logps = scores.logps;
  if (grpo_.masks_by_entropy)
    terms.entropy_mask =
        high_entropy_mask(scores.entropies, mask, recipe_.scored_tokens.value_or(mask.numel()));
  terms.advantages = inputs_.advantages.unsqueeze(1);
  const Tensor old_per_token_logps =
      inputs_.old_per_token_logps.defined() ? inputs_.old_per_token_logps : scores.logps.detach();
  if (grpo_.masks_off_policy)
    terms.off_policy_mask =
        off_policy_mask(terms.advantages, scores.logps, old_per_token_logps, mask);
  terms.log_ratio = scores.logps.sub(old_per_token_logps);
  Locals kept;
  const Tensor loss = reduced(per_token_loss(terms, kept));
  if (!grpo_.adds_entropy_bonus && !grpo_.adapts_entropy_bonus) return loss;
  return with_entropy_bonus(loss, scores.entropies, terms.entropy_mask);
}

}  // namespace memtape::transformers::trl
