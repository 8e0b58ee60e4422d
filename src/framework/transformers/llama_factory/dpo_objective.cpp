// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/llama_factory/dpo_objective.h"

#include <utility>
#include <vector>

#include "framework/transformers/llama_factory/batch_logps.h"
#include "framework/transformers/trl/switched_off.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/logarithms.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

namespace memtape::transformers::llama_factory {
namespace {

using family::Batch;
using ghost::Tensor;
using Preference = ProgramRecipe::Preference;

/// log(odds) of a sequence: its log-probability less log1p(-exp(it)).
Tensor log_of_rest(const Tensor& logps) { return ghost::log1p(ghost::exp(logps).neg()); }

}  // namespace

DpoObjective::Scores DpoObjective::concatenated_forward(const PreparedModel& model,
                                                        const Batch& inputs) const {
  const bool averages = !program_.has_reference();
  Batch batch = program_.has_reference() ? detached_clone(inputs) : inputs;
  const Tensor labels = std::exchange(batch.labels, {});
  const Tensor all_logits = model(batch).logits.to_float();
  Logps logps = get_batch_logps(all_logits, labels);
  if (averages) logps.sums = logps.sums.div(logps.valid_length);
  std::vector<Tensor> sums = logps.sums.chunk(2, 0), logits = all_logits.chunk(2, 0),
                      lengths = logps.valid_length.chunk(2, 0);
  Tensor average = averages ? sums[0] : sums[0].div(lengths[0]);
  return {std::move(sums[0]), std::move(sums[1]), std::move(logits[0]), std::move(logits[1]),
          std::move(average)};
}

DpoObjective::Scores DpoObjective::reference_scores(const Batch& inputs) const {
  if (!program_.has_reference()) return {};
  const ghost::GradMode no_grad(false);
  if (reference_) return concatenated_forward(*reference_, inputs);
  const trl::WithoutAdapters base(model_.model());
  return concatenated_forward(model_, inputs);
}

/// odds_ratio_loss, simpo_loss, and trl's dpo_loss of a sigmoid.
Tensor DpoObjective::preference_losses(const Scores& policy, const Scores& reference) const {
  if (program_.preference == Preference::orpo) {
    const Tensor log_odds =
        policy.chosen_logps.sub(policy.rejected_logps)
            .sub(log_of_rest(policy.chosen_logps).sub(log_of_rest(policy.rejected_logps)));
    const Tensor sft_loss = policy.chosen_logps.neg();
    const Tensor odds_ratio_loss = ghost::log_sigmoid(log_odds).neg();
    return sft_loss.add(odds_ratio_loss.mul(0.1));
  }
  const Tensor logratios = policy.chosen_logps.sub(policy.rejected_logps);
  if (program_.preference == Preference::simpo)
    return ghost::log_sigmoid(logratios.add(-5.0).mul(0.1)).neg();
  const Tensor ref_logratios = reference.chosen_logps.sub(reference.rejected_logps);
  const Tensor logits = logratios.sub(ref_logratios);
  const Tensor weighted = ghost::log_sigmoid(logits.mul(0.1)).neg().mul(ghost::kScale);
  return weighted.sub(ghost::log_sigmoid(logits.mul(0.1)).mul(0.0));
}

/// get_batch_loss_metrics; what it logs is small, or a mean of logits.
Tensor DpoObjective::compute_loss(const Inputs& inputs) {
  const Scores policy = concatenated_forward(model_, inputs);
  const Tensor losses = [&] {
    const Scores reference = reference_scores(inputs);
    return preference_losses(policy,
                             {reference.chosen_logps, reference.rejected_logps, {}, {}, {}});
  }();
  const Tensor sft_loss = policy.chosen_logps_avg.neg();
  for (const Tensor* logged : {&policy.chosen_logps, &policy.rejected_logps, &policy.chosen_logits,
                               &policy.rejected_logits})
    ghost::mean_all(*logged);
  return losses.mean(0);
}

}  // namespace memtape::transformers::llama_factory
