// SPDX-License-Identifier: Apache-2.0
// What GRPOTrainer._compute_loss (trl 1.16, trainer/grpo_trainer.py) may use instead of clipped
// ratios, and what masks and extends its loss. Advantages are [B, 1], and masks are [B, C] of whole
// numbers.
#pragma once

#include "ghost/tensor.h"

namespace memtape::transformers::trl {

/// exp(ref - logps) - (ref - logps) - 1
ghost::Tensor kl_divergence(const ghost::Tensor& ref_per_token_logps,
                            const ghost::Tensor& per_token_logps);

/// What the losses with clipped ratios keep until the function returns.
struct Clipped {
  ghost::Tensor coef_2, per_token_loss1, per_token_loss2;
};
ghost::Tensor clipped_loss(ghost::Tensor& coef_1, const ghost::Tensor& advantages,
                           bool clips_two_sided, Clipped& kept);

/// loss_type="sapo": the ratios go through a sigmoid.
ghost::Tensor soft_gated_loss(const ghost::Tensor& coef_1, const ghost::Tensor& advantages);

/// loss_type="vespo": get_gamma_weights, which works on whole sequences and without gradients.
ghost::Tensor gamma_weights(const ghost::Tensor& advantages, const ghost::Tensor& log_ratio,
                            const ghost::Tensor& mask);

/// get_off_policy_mask
ghost::Tensor off_policy_mask(const ghost::Tensor& advantages, const ghost::Tensor& per_token_logps,
                              const ghost::Tensor& old_per_token_logps, const ghost::Tensor& mask);

/// get_high_entropy_mask. `count` of the tokens belong to completions.
ghost::Tensor high_entropy_mask(const ghost::Tensor& entropies, const ghost::Tensor& mask,
                                std::int64_t count);

/// mask.sum(-1).clamp(min=1.0), which first turns the count into float32.
ghost::Tensor at_least_one(const ghost::Tensor& counts);

}  // namespace memtape::transformers::trl
