// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trl/sft_objective.h"

#include "framework/transformers/trl/pair.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sum_of_bools.h"

namespace memtape::transformers::trl {
namespace {

using ghost::Tensor;

/// (of / count).item() if count > 0 else 0.0
void take_mean(const Tensor& of, const Tensor& count) {
  {
    const Tensor positive = ghost::comparison("gt", count);
  }
  const Tensor mean = of.div(count);
}

}  // namespace

SftObjective::SftObjective(const TrainRecipe& recipe, const PreparedModel& model)
    : model_(model),
      count_{.scored = recipe.trainer.scored_tokens.value_or(recipe.micro_batch_size *
                                                             (recipe.sequence_length - 1)),
             .outputs = {.entropy = true, .is_top1 = true}},
      ranks_(recipe.layout.gpus),
      dynamic_fine_tuning_(recipe.trainer.sft->loss_type == "dft") {}

Tensor SftObjective::compute_loss(const family::Batch& inputs) {
  const FusedOutput outputs = fused_forward(model_, inputs, count_);
  Tensor per_token_loss = outputs.log_probs.neg();
  if (dynamic_fine_tuning_)
    per_token_loss = per_token_loss.mul(ghost::exp(outputs.log_probs).detach());
  Tensor loss = ghost::sum_all(per_token_loss);
  loss = loss.div(ghost::plain_unary("clamp", inputs.num_items_in_batch));
  loss = loss.mul(1.0);
  const ghost::GradMode no_grad(false);
  const Tensor num_valid = gathered(sum_of_bools(outputs.label_mask), ranks_);
  const Tensor entropy_sum = gathered(ghost::sum_all(outputs.entropy.detach()), ranks_);
  const Tensor num_correct = gathered(sum_of_bools(outputs.is_top1), ranks_);
  take_mean(entropy_sum, num_valid);
  take_mean(num_correct, num_valid);
  gathered(ghost::sum_all(inputs.attention_mask), ranks_);
  return loss;
}

}  // namespace memtape::transformers::trl
