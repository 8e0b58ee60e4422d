// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trl/cpo_objective.h"

#include <utility>

#include "framework/transformers/trainer_recipe.h"
#include "framework/transformers/trl/logprob_entropy.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/expm1.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/logarithms.h"
#include "ghost/ops/loss.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sum_of_bools.h"

namespace memtape::transformers::trl {
namespace {

using ghost::Tensor;

/// torch.where(x < t, log1p(-exp(x)), log(-expm1(x)))
Tensor log1mexp(const Tensor& x) {
  const Tensor is_small = ghost::lt(x, ghost::kLimit);
  const Tensor of_small = ghost::log1p(ghost::exp(x).neg());
  const Tensor of_large = ghost::log(ghost::expm1(x).neg());
  return ghost::where(is_small, of_small, of_large);
}

/// torch.where(mask, labels, number) and torch.where(mask, number, labels)
Tensor where_number(const Tensor& mask, const Tensor& labels) {
  const Tensor number = ghost::full({}, DType::int64);
  return ghost::where(mask, labels, number);
}

/// beta * logps.detach()
Tensor reward_of(const Tensor& logps) { return logps.detach().mul(0.1); }

/// A ratio's reward under AlphaPO: (1 - p^-alpha) / alpha.
Tensor transformed(const Tensor& probs) { return ghost::rsub(1.0, probs.pow(-0.5)).div(0.5); }

}  // namespace

Inputs paired_inputs(const TrainRecipe& recipe, std::int64_t rows) {
  const ghost::Dims whole{rows, recipe.sequence_length},
      prompts{rows, *trainer_of(recipe).cpo->prompt_length};
  const auto zeros = [](const ghost::Dims& sizes) {
    return ghost::zeros(sizes, DType::int64, Category::input);
  };
  Inputs batch;
  batch.input_ids = zeros(whole);
  batch.attention_mask = zeros(whole);
  batch.labels = zeros(whole);
  for (const ghost::Dims& sizes : {whole, whole, whole, prompts, prompts})
    batch.rest.push_back(zeros(sizes));
  return batch;
}

/// The likelihood of the chosen sequences: ORPO counts their prompts, too.
Tensor CpoObjective::loss_of_chosen(const Tensor& all_logits, const Tensor& labels) const {
  const std::int64_t chosen = all_logits.size(0) / 2;
  const Tensor chosen_logits = all_logits.slice(0, 0, chosen), of_them = labels.slice(0, 0, chosen);
  const Tensor logits = chosen_logits.slice(1, 0, -1).contiguous();
  const Tensor shifted = of_them.slice(1, 1, of_them.size(1)).contiguous();
  return ghost::cross_entropy(logits.view({-1, logits.size(-1)}), shifted.view({-1}));
}

/// get_batch_logps
Tensor CpoObjective::batch_logps(const Tensor& all_logits, const Tensor& all_labels) const {
  Tensor labels = all_labels.slice(1, 1, all_labels.size(1)).clone();
  const Tensor logits = all_logits.slice(1, 0, -1);
  const Tensor loss_mask = ghost::ne(labels, ghost::kIgnoreIndex);
  if (cpo_.takes_odds_ratio) {
    labels = where_number(ghost::eq(labels, ghost::kIgnoreIndex), labels);
  } else {
    const Tensor ignored = ghost::eq(labels, ghost::kIgnoreIndex);  // labels[labels == -100] = 0
  }
  const Tensor per_token_logps = selective_log_softmax(logits, labels);
  const bool averages =
      cpo_.takes_odds_ratio || cpo_.loss_type == "ipo" || cpo_.loss_type == "simpo";
  const Tensor sums = per_token_logps.mul(loss_mask).sum(-1);
  return averages ? sums.div(sum_of_bools(loss_mask, -1)) : sums;
}

CpoObjective::Forwarded CpoObjective::concatenated_forward(const Inputs& inputs) const {
  family::Batch concatenated;
  concatenated.input_ids = ghost::cat({inputs.input_ids, inputs.rest[0]}, 0);
  concatenated.attention_mask = ghost::cat({inputs.attention_mask, inputs.rest[1]}, 0);
  const Tensor concatenated_labels = ghost::cat({inputs.labels, inputs.rest[2]}, 0);
  const Tensor all_logits = model_(concatenated).logits;
  Tensor labels;
  Forwarded out;
  if (cpo_.takes_odds_ratio) {
    labels = concatenated.input_ids.clone();
    labels = where_number(ghost::eq(concatenated.attention_mask, 0), labels);
  } else {
    labels = concatenated_labels.clone();
  }
  out.nll_loss = cpo_.takes_odds_ratio || cpo_.cpo_alpha != 0.0 ? loss_of_chosen(all_logits, labels)
                                                                : ghost::full({}, DType::float32);
  out.logps = Pair(batch_logps(all_logits, concatenated_labels));
  out.logits = Pair(cpo_.takes_odds_ratio ? all_logits.slice(1, 0, -1) : all_logits);
  return out;
}

CpoObjective::Scores CpoObjective::odds_ratio_loss(const Pair& logps) const {
  const Tensor difference = logps.chosen.sub(logps.rejected);
  Tensor log_odds;
  {
    const Tensor of_chosen = log1mexp(logps.chosen);
    const Tensor of_rejected = log1mexp(logps.rejected);
    log_odds = difference.sub(of_chosen.sub(of_rejected));
  }
  const Tensor ratio = ghost::log_sigmoid(log_odds);
  Scores scores;
  scores.losses = ratio.mul(0.1);
  scores.chosen_rewards = reward_of(logps.chosen);
  scores.rejected_rewards = reward_of(logps.rejected);
  scores.logged = {ratio.mean(0), log_odds.mean(0)};
  return scores;
}

Tensor CpoObjective::losses_of(Tensor logits) const {
  if (cpo_.loss_type == "hinge") return ghost::relu(ghost::rsub(1.0, logits.mul(0.1)));
  if (cpo_.loss_type == "ipo") return logits.add(-5.0).pow(2);
  if (cpo_.loss_type == "simpo") logits = logits.add(-5.0);
  const auto log_sigmoid = [&] { return ghost::log_sigmoid(logits.mul(0.1)); };
  const Tensor certain = log_sigmoid().neg().mul(ghost::kScale);
  return certain.sub(log_sigmoid().mul(0.0));
}

CpoObjective::Scores CpoObjective::cpo_loss(const Pair& logps) const {
  Pair rewards = logps;
  if (cpo_.transforms_rewards) {
    const Tensor chosen_probs = ghost::exp(logps.chosen);
    const Tensor rejected_probs = ghost::exp(logps.rejected);
    rewards.chosen = transformed(chosen_probs);
    rewards.rejected = transformed(rejected_probs);
  }
  Scores scores;
  scores.losses = losses_of(rewards.chosen.sub(rewards.rejected));
  scores.chosen_rewards = reward_of(rewards.chosen);
  scores.rejected_rewards = reward_of(rewards.rejected);
  return scores;
}

/// Each mean is read when it is made, by ORPO when all are.
void CpoObjective::log_metrics(const Forwarded& forwarded, const Scores& scores) const {
  const Tensor accuracies = ghost::gt(scores.chosen_rewards, scores.rejected_rewards).to_float();
  std::vector<Tensor> means;
  const auto log = [&](const Tensor& mean) {
    if (cpo_.takes_odds_ratio) means.push_back(mean);
  };
  const ghost::GradMode no_grad(false);
  const auto log_mean_of = [&](const Tensor& x) { log(gather(x, ranks_).mean(0)); };
  const auto log_number = [&](const Tensor& x) { log(ghost::mean_all(gather(x, ranks_))); };
  log_mean_of(scores.chosen_rewards);
  log_mean_of(scores.rejected_rewards);
  log_mean_of(accuracies);
  log_mean_of(scores.chosen_rewards.sub(scores.rejected_rewards));
  log_mean_of(forwarded.logps.rejected);
  log_mean_of(forwarded.logps.chosen);
  log_number(ghost::sum_all(forwarded.logits.rejected));
  log_number(ghost::sum_all(forwarded.logits.chosen));
  log_number(forwarded.nll_loss);
  for (const Tensor& mean : scores.logged) log_number(mean);
}

Tensor CpoObjective::compute_loss(const Inputs& inputs) {
  const Forwarded forwarded = concatenated_forward(inputs);
  const Scores scores =
      cpo_.takes_odds_ratio ? odds_ratio_loss(forwarded.logps) : cpo_loss(forwarded.logps);
  Tensor loss = cpo_.takes_odds_ratio
                    ? forwarded.nll_loss.sub(scores.losses.mean(0))
                    : scores.losses.mean(0).add(forwarded.nll_loss.mul(cpo_.cpo_alpha));
  log_metrics(forwarded, scores);
  return loss;
}

}  // namespace memtape::transformers::trl
