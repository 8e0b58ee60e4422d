// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trl/grpo_objective.h"

#include "ghost/ops/creation.h"
#include "ghost/ops/extremes.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/session.h"

namespace memtape::transformers::trl {
namespace {

using ghost::Tensor;

/// mask.sum(-1).clamp(min=1.0): the count becomes a float32 first.
Tensor at_least_one(const Tensor& counts) { return ghost::plain_unary("clamp", counts.to_float()); }

/// exp(ref - logps) - (ref - logps) - 1
Tensor kl_divergence(const Tensor& ref_per_token_logps, const Tensor& per_token_logps) {
  const Tensor ratio = ghost::exp(ref_per_token_logps.sub(per_token_logps));
  return ratio.sub(ref_per_token_logps.sub(per_token_logps)).add(-1.0);
}

/// What the losses of clipped ratios keep until the function returns.
struct Clipped {
  Tensor coef_2, per_token_loss1, per_token_loss2;
};

Tensor clipped_loss(Tensor& coef_1, const Tensor& advantages, bool clips_two_sided, Clipped& kept) {
  kept.coef_2 = ghost::clamp(coef_1);
  if (clips_two_sided) coef_1 = ghost::clamp_one_sided(coef_1, ghost::Bound::max);
  kept.per_token_loss1 = coef_1.mul(advantages);
  kept.per_token_loss2 = kept.coef_2.mul(advantages);
  return ghost::minimum(kept.per_token_loss1, kept.per_token_loss2).neg();
}

}  // namespace

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
  if (type == "grpo") {
    const Tensor summed = per_token_loss.mul(mask).sum(-1);
    return summed.div(at_least_one(mask.sum(-1))).mean(0).div(1.0);
  }
  if (type == "luspo") return per_token_loss.mul(mask).sum(-1).mean(0).div(1.0);
  if (type == "bnpo") {
    const Tensor summed = ghost::sum_all(per_token_loss.mul(mask));
    return summed.div(at_least_one(ghost::sum_all(mask))).div(1.0);
  }
  if (type == "dr_grpo") return ghost::sum_all(per_token_loss.mul(mask)).div(1.0).div(1.0);
  const Tensor normalizer =
      at_least_one(inputs_.num_items_in_batch).div(1.0).mul(1.0).div(1.0);  // cispo and dapo
  return ghost::sum_all(per_token_loss.mul(mask)).div(normalizer);
}

Tensor GrpoObjective::compute_loss(const Inputs&) {
  const Tensor input_ids = ghost::cat({inputs_.prompt_ids, inputs_.completion_ids}, 1);
  const Tensor attention_mask = ghost::cat({inputs_.prompt_mask, inputs_.completion_mask}, 1);
  const TokenScores scores = score_tokens(model_, input_ids, attention_mask,
                                          {.logits_to_keep = grpo_.max_completion_length,
                                           .batch_size = input_ids.size(0),
                                           .scored = recipe_.trainer.scored_tokens,
                                           .wants_entropy = true});
  const Tensor& per_token_logps = scores.logps;
  if (grpo_.leaves_one_out) return leave_one_out_loss(per_token_logps);
  const Tensor advantages = inputs_.advantages.unsqueeze(1);
  const Tensor old_per_token_logps = inputs_.old_per_token_logps.defined()
                                         ? inputs_.old_per_token_logps
                                         : per_token_logps.detach();
  const Tensor log_ratio = per_token_logps.sub(old_per_token_logps);
  const Tensor log_importance_weights = importance_weights(log_ratio);
  Tensor coef_1 = ghost::exp(log_importance_weights);
  Tensor per_token_kl;
  if (grpo_.beta != 0.0) per_token_kl = kl_divergence(inputs_.ref_per_token_logps, per_token_logps);
  Clipped kept;
  Tensor clamped_ratios, per_token_loss;
  if (grpo_.loss_type == "cispo") {
    clamped_ratios = ghost::clamp_one_sided(coef_1, ghost::Bound::max).detach();
    per_token_loss = clamped_ratios.neg().mul(advantages).mul(per_token_logps);
  } else {
    per_token_loss = clipped_loss(coef_1, advantages, grpo_.clips_two_sided, kept);
  }
  if (per_token_kl.defined()) per_token_loss = per_token_loss.add(per_token_kl.mul(0.5));
  return reduced(per_token_loss);
}

}  // namespace memtape::transformers::trl
