// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/llama_factory/pairwise_objective.h"

#include <utility>
#include <vector>

#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

namespace memtape::transformers::llama_factory {

using ghost::Tensor;

namespace {

constexpr double kSummaryDropout = 0.1;  // ValueHead's, where the configuration has none

/// rewards.gather(-1, mask.sum(-1, keepdim=True) - 1).squeeze()
Tensor last_scores(const Tensor& rewards, const Tensor& mask) {
  const Tensor last = mask.sum(-1, true).add(-1.0);
  return ghost::gather(rewards, last).squeeze(-1);
}

}  // namespace

PairwiseObjective::PairwiseObjective(const PreparedModel& model)
    : model_(model),
      hidden_states_(model.model()),
      scope_(model.model().root() / "v_head"),
      dropout_(scope_ / "dropout", kSummaryDropout),
      summary_(scope_ / "summary", model.model().head()->in_features, 1, true, DType::float32) {}

/// ValueHead.forward, in float32 but under autocast.
Tensor PairwiseObjective::value_head(const Tensor& hidden_states) {
  Tensor output = dropout_(hidden_states);
  output = output.to(summary_.weight.dtype());
  return summary_(output).squeeze(-1);
}

Tensor PairwiseObjective::compute_loss(const Inputs& inputs) {
  Tensor loss, values, lm_logits;
  model_.call(
      [&]() -> torch::DrivenModel::Outputs {
        family::ModelOutput outputs = hidden_states_.forward(inputs);
        values = value_head(hidden_states_.last());
        lm_logits = outputs.logits.to_float();
        loss = outputs.loss;
        hidden_states_.forget();
        return {&lm_logits, &loss, &values};
      },
      PreparedModel::Callee::model_wrapped);
  values = values.to_float();
  lm_logits = {};
  const std::vector<Tensor> masks = inputs.attention_mask.chunk(2, 0), rewards = values.chunk(2, 0);
  const Tensor chosen = last_scores(rewards[0], masks[0]);
  const Tensor rejected = last_scores(rewards[1], masks[1]);
  return ghost::log_sigmoid(chosen.sub(rejected)).mean(0).neg();
}

}  // namespace memtape::transformers::llama_factory
