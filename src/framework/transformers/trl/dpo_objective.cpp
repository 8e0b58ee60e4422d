// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trl/dpo_objective.h"

#include <utility>
#include <vector>

#include "framework/transformers/trainer_recipe.h"
#include "framework/transformers/trl/dpo_losses.h"
#include "framework/transformers/trl/pair.h"
#include "framework/transformers/trl/switched_off.h"
#include "framework/transformers/trl/whole_logits.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sum_of_bools.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"
#include "release/trl_changes.h"

namespace memtape::transformers::trl {
namespace {

using ghost::Tensor;

constexpr LogProbOutputs kDpoOutputs{.entropy = true, .mean_logits = true, .is_top1 = true};

/// What the loss keeps for its metrics.
struct Scores {
  Tensor chosen_logratios, rejected_logratios, chosen_logps, rejected_logps;
};

/// x = gather_for_metrics(x).sum()
void gather_in_place(Tensor& x, std::int64_t ranks) { x = gathered(x, ranks); }

/// per_token_logps[shift_completion_mask == 0] = 0.0, where log-probabilities are of whole logits.
void mask_prompts(const FusedOutput& outputs, const Tensor& shift_completion_mask) {
  if (!outputs.scored_logits.defined()) return;
  ghost::masked_fill_(outputs.log_probs, ghost::eq(shift_completion_mask, 0), 0);
}

/// (of / count).item() if count > 0 else 0.0
void take_dpo_mean(const Tensor& of, const Tensor& count) {
  {
    const Tensor positive = ghost::gt(count, 0);
  }
  const Tensor mean = of.div(count);
}

void log_pair_logits(const Tensor& mean_logits, const Pair& masks, std::int64_t scored,
                     std::int64_t ranks) {
  const Pair logits(mean_logits);
  const auto total = [&](const Tensor& values, const Tensor& mask) {
    Tensor selected;
    {
      const Tensor counts = mask.to(DType::boolean);
      selected = ghost::index_by_mask(values, counts, scored / 2);
    }
    return ghost::sum_all(std::move(selected));
  };
  Tensor chosen_logits = total(logits.chosen, masks.chosen);
  Tensor chosen_tokens = ghost::sum_all(masks.chosen);
  Tensor rejected_logits = total(logits.rejected, masks.rejected);
  Tensor rejected_tokens = ghost::sum_all(masks.rejected);
  for (Tensor* sum : {&chosen_logits, &chosen_tokens, &rejected_logits, &rejected_tokens}) {
    gather_in_place(*sum, ranks);
    sum->reset();  // .item()
  }
}

/// Locals of _compute_loss that live until it returns.
struct Metrics {
  Tensor entropy_sum, total_tokens, correct_predictions, correct_tokens, total_sum, chosen_rewards,
      rejected_rewards, accuracies, margins;
};

void log_accuracy(const Tensor& is_top1, const Pair& masks, std::int64_t ranks, Metrics& kept) {
  const Pair halves(is_top1);
  {
    const Tensor chosen_mask = masks.chosen.to(DType::boolean);
    kept.correct_predictions = ghost::bitwise_and(halves.chosen, chosen_mask);
  }
  kept.total_tokens = ghost::sum_all(masks.chosen);
  kept.correct_tokens = sum_of_bools(kept.correct_predictions);
  kept.correct_tokens = transformers::gather(kept.correct_tokens, ranks);
  kept.total_tokens = transformers::gather(kept.total_tokens, ranks);
  kept.total_sum = gathered(kept.total_tokens, 1);
  {
    const Tensor positive = ghost::gt(kept.total_sum, 0);
  }
  const Tensor correct = gathered(kept.correct_tokens, 1);
  const Tensor accuracy = correct.div(kept.total_sum);
}

void log_rewards(const Scores& scores, std::int64_t ranks, Metrics& kept) {
  kept.chosen_rewards = scores.chosen_logratios.detach().mul(0.1);
  kept.rejected_rewards = scores.rejected_logratios.detach().mul(0.1);
  log_mean(kept.chosen_rewards, ranks);
  log_mean(kept.rejected_rewards, ranks);
  kept.accuracies = ghost::gt(kept.chosen_rewards, kept.rejected_rewards).to_float();
  log_mean(kept.accuracies, ranks);
  kept.margins = kept.chosen_rewards.sub(kept.rejected_rewards);
  log_mean(kept.margins, ranks);
  log_mean(scores.chosen_logps, ranks);
  log_mean(scores.rejected_logps, ranks);
}

/// Of labels, and of GPUs.
struct Counts {
  std::int64_t scored, ranks;
};

/// The metrics that trl logs, in their order; all are small.
Metrics log_dpo_metrics(const FusedOutput& outputs, const Tensor& attention_mask,
                        const Tensor& shift_completion_mask, Counts counts, const Scores& scores) {
  const std::int64_t ranks = counts.ranks;
  Metrics kept;
  kept.entropy_sum = ghost::sum_all(outputs.entropy.detach().mul(shift_completion_mask));
  kept.total_tokens = ghost::sum_all(shift_completion_mask);
  gather_in_place(kept.entropy_sum, ranks);
  gather_in_place(kept.total_tokens, ranks);
  take_dpo_mean(kept.entropy_sum, kept.total_tokens);
  if (ghost::session().training) gathered(ghost::sum_all(attention_mask), ranks);
  const Pair masks(shift_completion_mask);
  log_pair_logits(outputs.mean_logits, masks, counts.scored, ranks);
  log_accuracy(outputs.is_top1, masks, ranks, kept);
  log_rewards(scores, ranks, kept);
  return kept;
}

}  // namespace

DpoObjective::DpoObjective(const TrainRecipe& recipe, const PreparedModel& model,
                           const PreparedModel* reference)
    : model_(model),
      reference_(reference),
      dpo_(*trainer_of(recipe).dpo),
      ranks_(recipe.layout.gpus),
      batch_size_(2 * recipe.micro_batch_size),
      scored_(recipe.scored_tokens),
      balances_experts_(trainer_of(recipe).balances_experts.value_or(true)) {}

std::int64_t DpoObjective::scored_of(const family::Batch& inputs) const {
  const std::int64_t rows = inputs.input_ids.size(0);
  return scored_ ? *scored_ * rows / batch_size_ : rows * (inputs.input_ids.size(1) - 1);
}

FusedOutput DpoObjective::reference_outputs(const family::Batch& model_inputs) const {
  const ghost::GradMode no_grad(false);
  FusedCount count{.scored = scored_of(model_inputs), .outputs = {}, .keeps_logits = true};
  if (reference_) return fused_forward(*reference_, model_inputs, count);
  const WithoutAdapters base(model_.model());
  count.outputs = kDpoOutputs;  // one forward was put in the model's place
  return fused_forward(model_, model_inputs, count, PreparedModel::Callee::model);
}

Tensor DpoObjective::compute_loss(const Inputs& inputs) {
  const Tensor& completion_mask = inputs.labels;
  Tensor shift_completion_mask = completion_mask.slice(1, 1, completion_mask.size(1));
  family::Batch model_inputs = inputs;
  const bool fuses_head = ghost::has(changes::kTrlFusesHead);
  model_inputs.labels =
      fuses_head
          ? ghost::masked_fill(inputs.input_ids, ghost::eq(completion_mask, 0), ghost::kIgnoreIndex)
          : inputs.input_ids;
  const FusedCount count{.scored = scored_of(inputs),
                         .outputs = kDpoOutputs,
                         .balances_experts = balances_experts_,
                         .keeps_logits = true};
  FusedOutput outputs = fused_forward(model_, model_inputs, count);
  if (outputs.scored_logits.defined() && !ghost::has(changes::kTrlCountsFromViews))
    shift_completion_mask = shift_completion_mask.contiguous();
  mask_prompts(outputs, shift_completion_mask);
  // [:, -seq_len:] is a slice, though of all: Python's short cut is for those from 0 on
  const Tensor per_token_logps = ghost::strided_slice(outputs.log_probs, 1, 0, 1);
  const Tensor logps = per_token_logps.sum(1);
  const Pair policy(logps);
  FusedOutput ref_outputs;
  Pair reference;
  if (dpo_.precompute_ref_log_probs) {
    reference.chosen = reference.rejected = inputs.num_items_in_batch;
  } else {
    ref_outputs = reference_outputs(model_inputs);
    mask_prompts(ref_outputs, shift_completion_mask);
    reference = Pair(ref_outputs.log_probs.sum(1));
  }
  DpoTerms terms;
  terms.logps = policy;
  terms.reference = reference;
  terms.logratios.chosen = policy.chosen.sub(reference.chosen);
  terms.logratios.rejected = policy.rejected.sub(reference.rejected);
  terms.scores = divergence_scores(dpo_.f_divergence_type, terms.logratios);
  terms.delta_score = terms.scores.chosen.sub(terms.scores.rejected);
  terms.completion_masks = Pair(completion_mask);
  terms.per_token_logps = per_token_logps;
  terms.chosen_shifted = Pair(shift_completion_mask).chosen;
  terms.scored_of_chosen = count.scored / 2;
  std::vector<Tensor> locals;
  Tensor loss = dpo_loss(dpo_.loss_types, terms, locals);
  if (outputs.aux_loss.defined()) loss = loss.add(outputs.aux_loss.mul(0.5));
  log_kept_logits(outputs, shift_completion_mask, count.scored);
  const Metrics metrics = log_dpo_metrics(
      outputs, inputs.attention_mask, shift_completion_mask, {count.scored, ranks_},
      {terms.logratios.chosen, terms.logratios.rejected, policy.chosen, policy.rejected});
  return loss;
}

}  // namespace memtape::transformers::trl
