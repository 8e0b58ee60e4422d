// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trl/kto_objective.h"

#include <utility>
#include <vector>

#include "framework/transformers/trainer_recipe.h"
#include "framework/transformers/trl/pair.h"
#include "framework/transformers/trl/switched_off.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sum_of_bools.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"

namespace memtape::transformers::trl {
namespace {

using ghost::Tensor;

constexpr LogProbOutputs kKtoOutputs{.entropy = true, .mean_logits = true, .is_top1 = false};

/// ids.masked_fill(completion_mask == 0, -100)
Tensor completion_labels(const family::Batch& inputs) {
  return ghost::masked_fill(inputs.input_ids, ghost::eq(inputs.labels, 0), ghost::kIgnoreIndex);
}

/// Which of the sequences are desirable: half of them.
struct Sides {
  Tensor chosen_idx, rejected_idx;
};

Sides sides_of(const Tensor& label) {
  const std::int64_t rows = label.size(0), chosen = (rows + 1) / 2;
  Sides sides;
  sides.chosen_idx = ghost::nonzero(label, chosen).view({-1});
  {
    const Tensor rejected = ghost::bitwise_not(label);
    sides.rejected_idx = ghost::nonzero(rejected, rows - chosen).view({-1});
  }
  return sides;
}

/// index_select by both.
Pair selected(const Tensor& of, const Sides& sides) {
  Pair both;
  both.chosen = ghost::index_select(of, sides.chosen_idx);
  both.rejected = ghost::index_select(of, sides.rejected_idx);
  return both;
}

/// weight * (1 - sigmoid(beta * difference))
Tensor losses_of(const Tensor& difference) {
  return ghost::rsub(1.0, ghost::sigmoid(difference.mul(0.1))).mul(ghost::kScale);
}

/// Sums over all ranks that are read and forgotten.
void log_sum(const Tensor& sum, std::int64_t ranks) { gathered(sum, ranks); }

void log_side_logits(const Tensor& mean_logits, const Tensor& mask, const Sides& sides,
                     std::int64_t ranks) {
  const Pair logits = selected(mean_logits, sides);
  const Pair masks = selected(mask, sides);
  const auto total = [](const Tensor& values, const Tensor& counted) {
    const Tensor counts = counted.to(DType::boolean);
    return ghost::sum_all(ghost::index_by_mask(values, counts, values.numel()));
  };
  const Tensor chosen_logits = total(logits.chosen, masks.chosen);
  const Tensor chosen_tokens = ghost::sum_all(masks.chosen);
  const Tensor rejected_logits = total(logits.rejected, masks.rejected);
  const Tensor rejected_tokens = ghost::sum_all(masks.rejected);
  for (const Tensor* sum : {&chosen_logits, &chosen_tokens, &rejected_logits, &rejected_tokens})
    log_sum(*sum, ranks);
}

void log_kto_metrics(const FusedOutput& outputs, const family::Batch& inputs, const Sides& sides,
                     std::int64_t ranks) {
  const ghost::GradMode no_grad(false);
  const Tensor mask = inputs.labels.slice(1, 1, inputs.labels.size(1));
  const Tensor entropy_sum = ghost::sum_all(outputs.entropy.detach().mul(mask));
  const Tensor total_tokens = ghost::sum_all(mask);
  log_sum(entropy_sum, ranks);
  log_sum(total_tokens, ranks);
  if (ghost::session().training) log_sum(ghost::sum_all(inputs.attention_mask), ranks);
  log_side_logits(outputs.mean_logits, mask, sides, ranks);
}

}  // namespace

std::vector<Tensor> kto_extras(const KtoRecipe& kto, std::int64_t rows, std::int64_t length) {
  std::vector<Tensor> extras;
  if (kto.has_kl_term)
    for (int i = 0; i < 3; ++i)
      extras.push_back(ghost::zeros({rows, length}, DType::int64, Category::input));
  if (kto.precompute_ref_log_probs)
    for (int i = 0; i < (kto.has_kl_term ? 2 : 1); ++i)
      extras.push_back(ghost::zeros({rows}, DType::float32, Category::input));
  extras.push_back(ghost::zeros({rows}, DType::boolean, Category::input));
  return extras;
}

KtoObjective::KtoObjective(const TrainRecipe& recipe, const PreparedModel& model,
                           const PreparedModel* reference)
    : model_(model),
      reference_(reference),
      kto_(*trainer_of(recipe).kto),
      ranks_(recipe.layout.gpus),
      batch_size_(recipe.micro_batch_size),
      scored_(
          recipe.scored_tokens.value_or(recipe.micro_batch_size * (recipe.sequence_length - 1))) {}

template <class Forward>
Tensor KtoObjective::kl_logps(const family::Batch& inputs, const Forward& forward) const {
  if (!kto_.has_kl_term) return {};
  family::Batch kl_inputs = inputs;
  kl_inputs.labels = completion_labels(inputs);
  const ghost::GradMode no_grad(false);
  const Tensor per_token_logps = forward(kl_inputs).log_probs;
  return ghost::strided_slice(per_token_logps, 1, 0, 1).sum(1);
}

KtoObjective::Reference KtoObjective::reference_logps(const family::Batch& inputs,
                                                      const family::Batch& model_inputs) const {
  const ghost::GradMode no_grad(false);
  Reference found;
  const auto run = [&](const auto& forward) {
    found.kl_logps = kl_logps(inputs, forward);
    found.outputs = forward(model_inputs);
  };
  FusedCount count{.scored = scored_ * inputs.input_ids.size(0) / batch_size_, .outputs = {}};
  if (reference_) {
    run([&](const family::Batch& batch) { return fused_forward(*reference_, batch, count); });
  } else {
    const WithoutAdapters base(model_.model());
    count.outputs = kKtoOutputs;  // one forward was put in the model's place
    run([&](const family::Batch& batch) {
      return fused_forward(model_, batch, count, PreparedModel::Callee::model);
    });
  }
  found.per_token_logps = ghost::strided_slice(found.outputs.log_probs, 1, 0, 1);
  found.logps = found.per_token_logps.sum(1);
  return found;
}

Tensor KtoObjective::compute_loss(const Inputs& inputs) {
  const Tensor& label = inputs.num_items_in_batch;
  const Tensor num_chosen = sum_of_bools(label);
  const Tensor num_rejected = ghost::rsub(2.0, num_chosen);
  const FusedCount count{.scored = scored_ * inputs.input_ids.size(0) / batch_size_,
                         .outputs = kKtoOutputs};
  const Tensor kl = kl_logps(inputs, [&](const family::Batch& batch) {
    const WithoutCheckpointing nothing_is_saved(model_.model());
    return fused_forward(model_, batch, count);
  });
  family::Batch model_inputs = inputs;
  model_inputs.labels = completion_labels(inputs);
  const FusedOutput outputs = fused_forward(model_, model_inputs, count);
  const Tensor per_token_logps = ghost::strided_slice(outputs.log_probs, 1, 0, 1);
  const Tensor completion_logps = per_token_logps.sum(1);
  const Sides sides = sides_of(label);
  const Pair policy = selected(completion_logps, sides);
  Reference ref;
  if (kto_.precompute_ref_log_probs)
    ref.logps = ref.kl_logps = completion_logps.detach();  // no others are as many
  else
    ref = reference_logps(inputs, model_inputs);
  const Pair reference = selected(ref.logps, sides);
  Tensor mean_kl;
  if (kto_.has_kl_term) {
    const Tensor mean = kl.sub(ref.kl_logps).mean(0).detach();
    mean_kl = ghost::clamp(ghost::mean_all(gather(mean, ranks_)), {.min = 0});
  } else {
    mean_kl = ghost::zeros({1}, DType::float32);
  }
  const Tensor chosen_logratios = policy.chosen.sub(reference.chosen);
  const Tensor chosen_losses = losses_of(chosen_logratios.sub(mean_kl));
  const Tensor chosen_rewards = chosen_logratios.detach().mul(0.1);
  const Tensor rejected_logratios = policy.rejected.sub(reference.rejected);
  const Tensor rejected_losses = losses_of(mean_kl.sub(rejected_logratios));
  const Tensor rejected_rewards = rejected_logratios.detach().mul(0.1);
  const Tensor losses = ghost::cat({chosen_losses, rejected_losses}, 0);
  log_kto_metrics(outputs, inputs, sides, ranks_);
  return losses.mean(0);
}

}  // namespace memtape::transformers::trl
