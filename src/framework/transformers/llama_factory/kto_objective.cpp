// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/llama_factory/kto_objective.h"

#include <utility>

#include "framework/transformers/llama_factory/batch_logps.h"
#include "framework/transformers/trl/switched_off.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/nansum.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sum_of_bools.h"

namespace memtape::transformers::llama_factory {
namespace {

using ghost::Tensor;

struct Forward {
  Tensor logits, logps, logps_avg;
};

/// `forward`: all of the batch is cloned first, and lives until the log-probabilities are there.
Forward forward(const PreparedModel& model, const Inputs& inputs) {
  const family::Batch batch = detached_clone(inputs);
  std::vector<Tensor> rest;
  for (const Tensor& other : inputs.rest) rest.push_back(other.clone());
  family::Batch model_inputs = batch;
  model_inputs.labels = {};
  Tensor logits = model(model_inputs).logits.to_float();
  Logps logps = get_batch_logps(logits, batch.labels);
  Tensor average = logps.sums.div(logps.valid_length);
  return {std::move(logits), std::move(logps.sums), std::move(average)};
}

/// weight * (1 - sigmoid(beta * difference))
Tensor losses_of(const Tensor& difference) {
  return ghost::rsub(1.0, ghost::sigmoid(difference.mul(0.1))).mul(ghost::kScale);
}

/// losses.nanmean(): what is no number is counted before the rest is summed.
Tensor nanmean(const Tensor& losses) {
  const Tensor is_number = ghost::logical_not(ghost::isnan(losses.detach()));
  const Tensor factor = sum_of_bools(is_number);
  return ghost::nansum(losses).div(factor);
}

}  // namespace

KtoObjective::Scores KtoObjective::concatenated_forward(const PreparedModel& model,
                                                        const Inputs& inputs) {
  const Forward target = forward(model, inputs);
  Scores scores;
  {
    const ghost::GradMode no_grad(false);
    scores.kl_logps = forward(model, inputs).logps;
  }
  const Tensor& tags = inputs.num_items_in_batch;
  const std::int64_t rows = tags.size(0), chosen = (rows + 1) / 2;
  const auto rejected = [&](const Tensor& of) {
    return ghost::index_by_mask(of, ghost::bitwise_not(tags), rows - chosen);
  };
  scores.chosen_logits = ghost::index_by_mask(target.logits, tags, chosen);
  scores.chosen_logps = ghost::index_by_mask(target.logps, tags, chosen);
  scores.rejected_logits = rejected(target.logits);
  scores.rejected_logps = rejected(target.logps);
  scores.chosen_logps_avg = ghost::index_by_mask(target.logps_avg, tags, chosen);
  return scores;
}

KtoObjective::Scores KtoObjective::reference_scores(const Inputs& inputs) const {
  const ghost::GradMode no_grad(false);
  if (reference_) return concatenated_forward(*reference_, inputs);
  const trl::WithoutAdapters base(model_.model());
  return concatenated_forward(model_, inputs);
}

/// get_batch_loss_metrics, with trl's kto_loss in it.
Tensor KtoObjective::compute_loss(const Inputs& inputs) {
  const Scores policy = concatenated_forward(model_, inputs);
  Scores reference = reference_scores(inputs);
  reference.chosen_logits = reference.rejected_logits = reference.chosen_logps_avg = {};
  const Tensor mean = policy.kl_logps.sub(reference.kl_logps).mean(0).detach();
  const Tensor kl = ghost::clamp(ghost::mean_all(mean), {.min = 0});
  const Tensor chosen_logratios = policy.chosen_logps.sub(reference.chosen_logps);
  const Tensor chosen_losses = losses_of(chosen_logratios.sub(kl));
  const Tensor chosen_rewards = chosen_logratios.detach().mul(0.1);
  const Tensor rejected_logratios = policy.rejected_logps.sub(reference.rejected_logps);
  const Tensor rejected_losses = losses_of(kl.sub(rejected_logratios));
  const Tensor rejected_rewards = rejected_logratios.detach().mul(0.1);
  Tensor loss = nanmean(ghost::cat({chosen_losses, rejected_losses}, 0));
  for (const Tensor* logged : {&chosen_rewards, &policy.chosen_logps, &policy.chosen_logits,
                               &rejected_rewards, &policy.rejected_logps, &policy.rejected_logits})
    ghost::nansum(*logged);
  return loss;
}

}  // namespace memtape::transformers::llama_factory
