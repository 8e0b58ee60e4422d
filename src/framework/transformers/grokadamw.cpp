// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/grokadamw.h"

#include "framework/torch/clip_grad.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"

namespace memtape::transformers {

using ghost::Tensor;

/// _update_group; its locals live until the group is done.
void GrokAdamW::step_over(const torch::Places& places) {
  Tensor exp_avg, exp_avg_sq, grok_ema, grok_grad;
  for (const std::size_t place : places) {
    const Tensor& p = parameters_[place];
    Tensor first = ghost::empty_like(p, p.dtype());
    Tensor second = ghost::empty_like(p, p.dtype());
    exp_avg = std::move(first);
    exp_avg_sq = std::move(second);
    grok_ema = ghost::empty_like(p, p.dtype());
    torch::clip_grad_norm({p});
    grok_grad = p.grad().add(grok_ema.mul(2.0));
    const Tensor root = ghost::sqrt(exp_avg_sq);
  }
}

}  // namespace memtape::transformers
