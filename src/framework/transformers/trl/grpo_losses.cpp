// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trl/grpo_losses.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/extremes.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "ghost/ops/unary.h"
#include "ghost/session.h"

namespace memtape::transformers::trl {
namespace {

using ghost::Tensor;

/// torch.where(condition, number, other): both numbers become tensors of the device.
Tensor where_numbers(const Tensor& condition) {
  const Tensor other = ghost::full({}, DType::float32), number = ghost::full({}, DType::float32);
  return ghost::where(condition, number, other);
}

/// torch.quantile of a row, interpolated between its neighbours.
Tensor quantile(const Tensor& row) {
  const Tensor q = ghost::full({1}, DType::float32);
  const Tensor sorted = ghost::sort(row).first;
  Tensor ranks;
  {
    const Tensor scaled = q.mul(2.0);
    const Tensor has_nan = ghost::any(ghost::isnan(sorted), 0);
    ranks = ghost::masked_fill(scaled, has_nan.view({1}), ghost::kLimit);
  }
  const Tensor ranks_below = ranks.to(DType::int64);
  const Tensor values_below = ghost::gather(sorted, ranks_below);
  const Tensor weights = ranks.sub(ranks_below);
  const Tensor ranks_above = ranks.to(DType::int64);
  const Tensor values_above = ghost::gather(sorted, ranks_above);
  return values_below;
}

}  // namespace

Tensor at_least_one(const Tensor& counts) { return ghost::clamp(counts.to_float(), {.min = 1}); }

Tensor kl_divergence(const Tensor& ref_per_token_logps, const Tensor& per_token_logps) {
  const Tensor ratio = ghost::exp(ref_per_token_logps.sub(per_token_logps));
  return ratio.sub(ref_per_token_logps.sub(per_token_logps)).add(-1.0);
}

Tensor clipped_loss(Tensor& coef_1, const Tensor& advantages, bool clips_two_sided, Clipped& kept) {
  kept.coef_2 = ghost::clamp(coef_1, {.min = 0.8, .max = 1.2});
  if (clips_two_sided) coef_1 = ghost::clamp(coef_1, {.max = ghost::kLimit});
  kept.per_token_loss1 = coef_1.mul(advantages);
  kept.per_token_loss2 = kept.coef_2.mul(advantages);
  return ghost::minimum(kept.per_token_loss1, kept.per_token_loss2).neg();
}

Tensor soft_gated_loss(const Tensor& coef_1, const Tensor& advantages) {
  const Tensor temperatures = where_numbers(ghost::gt(advantages, 0));
  const Tensor gate = ghost::sigmoid(temperatures.mul(coef_1.add(-1.0)));
  const Tensor soft_coef_1 = gate.mul(4.0).div(temperatures);
  return soft_coef_1.neg().mul(advantages);
}

Tensor gamma_weights(const Tensor& advantages, const Tensor& log_ratio, const Tensor& mask) {
  const ghost::GradMode no_grad(false);
  const Tensor log_ratio_clamped = ghost::clamp(log_ratio, {.min = -20.0, .max = 20.0});
  const Tensor seq_log_ratio = log_ratio_clamped.mul(mask).sum(-1, true);
  const Tensor log_w_seq = ghost::clamp(seq_log_ratio, {.min = -20.0, .max = 20.0});
  const Tensor w_seq = ghost::exp(log_w_seq);
  const Tensor is_nonneg_adv = ghost::ge(advantages, 0);
  const Tensor k_seq = where_numbers(is_nonneg_adv);
  const Tensor lambda_seq = ghost::clamp(where_numbers(is_nonneg_adv), {.min = 1e-4});
  const Tensor log_phi = lambda_seq.add(k_seq.mul(log_w_seq)).sub(lambda_seq.mul(w_seq));
  return ghost::nan_to_num(ghost::exp(log_phi));
}

Tensor off_policy_mask(const Tensor& advantages, const Tensor& per_token_logps,
                       const Tensor& old_per_token_logps, const Tensor& mask) {
  Tensor kl_div = old_per_token_logps.sub(per_token_logps.detach());
  kl_div = ghost::nan_to_num(kl_div);
  const Tensor seq_kl_sum = kl_div.mul(mask).sum(1, true);
  const Tensor avg_seq_kl = seq_kl_sum.div(at_least_one(mask.sum(1, true)));
  const Tensor is_pos_adv = ghost::ge(advantages, 0);
  const Tensor is_low_kl = ghost::le(avg_seq_kl, ghost::kLimit);
  return ghost::bitwise_or(is_pos_adv, is_low_kl).to(mask.dtype());
}

Tensor high_entropy_mask(const Tensor& entropies, const Tensor& mask, std::int64_t count) {
  const ghost::GradMode no_grad(false);
  const Tensor local = ghost::index_by_mask(entropies, mask.to(DType::boolean), count);
  const Tensor gathered = ghost::index_by_mask(local, ghost::ne(local, 0), count);
  const Tensor entropy_threshold = quantile(gathered);
  const Tensor masked_entropies = entropies.mul(mask.to_float());
  const Tensor entropy_mask = ghost::ge(masked_entropies, entropy_threshold);
  return ghost::bitwise_and(entropy_mask, mask.to(DType::boolean));
}

}  // namespace memtape::transformers::trl
