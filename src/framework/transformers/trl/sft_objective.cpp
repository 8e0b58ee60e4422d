// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trl/sft_objective.h"

#include "framework/transformers/label_smoother.h"
#include "framework/transformers/trainer_recipe.h"
#include "framework/transformers/trl/pair.h"
#include "framework/transformers/trl/whole_logits.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sum_of_bools.h"
#include "ghost/session.h"
#include "release/trl_changes.h"

namespace memtape::transformers::trl {
namespace {

using ghost::Tensor;

/// (of / count).item() if count > 0 else 0.0
void take_sft_mean(const Tensor& of, const Tensor& count) {
  {
    const Tensor positive = ghost::gt(count, 0);
  }
  const Tensor mean = of.div(count);
}

std::int64_t sequences_in(const Inputs& inputs) { return inputs.cu_seq_lens_q.size(0) - 1; }

/// num_tokens: the mask's ones, or a tensor made of the row's length.
void log_tokens(const Inputs& inputs, std::int64_t ranks) {
  gathered(inputs.position_ids.defined() ? ghost::full({}, DType::int64)
                                         : ghost::sum_all(inputs.attention_mask),
           ranks);
}

}  // namespace

PassedSequences::PassedSequences(const Inputs& inputs)
    : arguments_(nullptr, inputs.position_ids, 0, family::ForwardArguments::Stage::prefill),
      packed_(sequences_in(inputs) > 1),
      lengths_({inputs.cu_seq_lens_q, inputs.cu_seq_lens_k}) {}

SftObjective::SftObjective(const TrainRecipe& recipe, const PreparedModel& model)
    : model_(model),
      of_trainer_(recipe, model),
      scored_(recipe.scored_tokens),
      batch_tokens_(recipe.micro_batch_size * recipe.sequence_length),
      ranks_(recipe.layout.gpus),
      dynamic_fine_tuning_(trainer_of(recipe).sft->loss_type == "dft"),
      has_ligers_head_(recipe.use_liger_kernel &&
                       trainer_of(recipe).liger_kernel_config.fused_linear_cross_entropy),
      smooths_labels_(trainer_of(recipe).label_smoothing_factor != 0.0),
      balances_experts_(trainer_of(recipe).balances_experts.value_or(true)),
      averages_tokens_(trainer_of(recipe).averages_tokens_across_devices) {}

std::int64_t SftObjective::scored_in(const Inputs& inputs) const {
  const std::int64_t tokens = inputs.input_ids.numel();
  if (scored_) return *scored_ * tokens / batch_tokens_;
  return tokens - (inputs.position_ids.defined() ? sequences_in(inputs) : inputs.input_ids.size(0));
}

FusedOutput SftObjective::outputs_of(const Inputs& inputs) const {
  const FusedCount count{.scored = scored_in(inputs),
                         .outputs = {.entropy = true, .is_top1 = true},
                         .balances_experts = balances_experts_,
                         .in_chunks = true};
  return fused_forward(model_, inputs, count);
}

Tensor SftObjective::smoothed_loss(const Inputs& inputs, Locals& kept) const {
  Tensor loss;
  {
    family::Batch logits_inputs = inputs;
    logits_inputs.labels.reset();
    const family::ModelOutput with_logits = model_(logits_inputs);
    loss = label_smoother(with_logits.logits, inputs.labels, inputs.num_items_in_batch, true);
  }
  {
    const ghost::GradMode no_grad(false);
    kept.outputs = outputs_of(inputs);
  }
  return averages_tokens_ && inputs.num_items_in_batch.defined() ? loss.mul(ghost::kScale) : loss;
}

Tensor SftObjective::fused_loss(const Inputs& inputs, Locals& kept) const {
  kept.outputs = outputs_of(inputs);
  const FusedOutput& outputs = kept.outputs;
  kept.per_token_loss = outputs.log_probs.neg();
  if (dynamic_fine_tuning_)
    kept.per_token_loss = kept.per_token_loss.mul(ghost::exp(outputs.log_probs).detach());
  kept.num_tokens = inputs.num_items_in_batch.defined() ? inputs.num_items_in_batch
                                                        : sum_of_bools(outputs.label_mask);
  Tensor loss = ghost::sum_all(kept.per_token_loss);
  loss = loss.div(ghost::clamp(kept.num_tokens, {.min = 1}));
  Tensor& weighted_aux_loss = kept.weighted_aux_loss;
  if (outputs.aux_loss.defined()) weighted_aux_loss = outputs.aux_loss.mul(0.5);
  if (averages_tokens_ && inputs.num_items_in_batch.defined()) loss = loss.mul(ghost::kScale);
  if (weighted_aux_loss.defined()) loss = loss.add(weighted_aux_loss.div(2.0));
  return loss;
}

void SftObjective::log_metrics(const Inputs& inputs, const FusedOutput& outputs) const {
  const ghost::GradMode no_grad(false);
  const Tensor num_valid = gathered(sum_of_bools(outputs.label_mask), ranks_);
  const Tensor entropy_sum = gathered(ghost::sum_all(outputs.entropy.detach()), ranks_);
  const Tensor num_correct = gathered(sum_of_bools(outputs.is_top1), ranks_);
  take_sft_mean(entropy_sum, num_valid);
  take_sft_mean(num_correct, num_valid);
  if (ghost::session().training) log_tokens(inputs, ranks_);
  if (outputs.aux_loss.defined()) {
    const Tensor mean = ghost::mean_all(outputs.aux_loss);
  }
}

/// Trainer's own loss, and what is logged of its logits, which Liger's head does not return (trl
/// 0.16 to 1.14, SFTTrainer.compute_loss).
Tensor SftObjective::loss_of_logits(const Inputs& inputs) {
  const family::ModelOutput outputs = of_trainer_.compute(inputs);
  if (outputs.logits.defined()) log_metrics_of_logits(outputs.logits, inputs.labels);
  if (!ghost::session().training) passed_.reset();
  return outputs.loss;
}

Tensor SftObjective::compute_loss(const Inputs& inputs) {
  passed_.reset();
  if (inputs.position_ids.defined()) passed_.emplace(inputs);
  const bool chunks =
      (ghost::has(changes::kTrlChunksSft) || dynamic_fine_tuning_) && !has_ligers_head_;
  if (!chunks && !ghost::has(changes::kTrlFusesHead)) return loss_of_logits(inputs);
  Locals kept;
  Tensor loss = smooths_labels_ ? smoothed_loss(inputs, kept) : fused_loss(inputs, kept);
  log_metrics(inputs, kept.outputs);
  if (!ghost::session().training) passed_.reset();
  return loss;
}

}  // namespace memtape::transformers::trl
