// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trl/reward_objective.h"

#include "framework/transformers/trl/pair.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

namespace memtape::transformers::trl {

using ghost::Tensor;

namespace {

/// all_rewards.min().item() and .max().item()
void log_extreme(const Tensor& rewards) { const Tensor extreme = ghost::max_all(rewards); }

/// What is logged; the mean of the margins is read last and lives on.
Tensor log_reward_metrics(const Tensor& logits, const Pair& rewards, std::int64_t ranks) {
  const ghost::GradMode no_grad(false);
  const Tensor all_rewards = gather(logits, ranks);
  log_extreme(all_rewards);
  log_mean(all_rewards.view({-1}), 1);
  log_extreme(all_rewards);
  {
    const Tensor accuracy =
        ghost::gt(rewards.chosen, rewards.rejected).to_float().mean(0);  // gathered and averaged
    gathered(accuracy, ranks);
  }
  Tensor margin = rewards.chosen.sub(rewards.rejected).mean(0);
  return gathered(margin, ranks);
}

}  // namespace

Tensor RewardObjective::compute_loss(const Inputs& inputs) {
  const family::ModelOutput outputs = model_(inputs);
  const Pair rewards(outputs.logits.squeeze(-1));
  Tensor loss = ghost::log_sigmoid(rewards.chosen.sub(rewards.rejected)).mean(0).neg();
  if (centers_rewards_) {
    const Tensor centered = rewards.chosen.add(rewards.rejected).pow(2).mean(0).mul(0.01);
    ghost::add_(loss, centered);
  }
  gathered(ghost::sum_all(inputs.attention_mask), ranks_);
  const Tensor mean_margin = log_reward_metrics(outputs.logits, rewards, ranks_);
  return loss;
}

}  // namespace memtape::transformers::trl
