// SPDX-License-Identifier: Apache-2.0
// PairwiseTrainer of LLaMA-Factory (0.9.5, train/rm/trainer.py), which trains a reward model.
// AutoModelForCausalLMWithValueHead of trl 0.24 (models/modeling_value_head.py) adds a head that
// gives one number for each token to the language model, whose own logits and loss are computed as
// well and dropped.
#pragma once

#include "framework/transformers/llama_factory/hidden_states.h"
#include "framework/transformers/objective.h"
#include "framework/transformers/prepared_model.h"
#include "nn/layers.h"

namespace memtape::transformers::llama_factory {

/// A batch is [2 B, S]: the chosen sequences, and then the rejected ones.
class PairwiseObjective final : public Objective {
 public:
  /// Adds the value head to the model's tree, after everything else.
  explicit PairwiseObjective(const PreparedModel& model);

  ghost::Tensor compute_loss(const Inputs& inputs) override;
  bool counts_items() const override { return false; }

 private:
  ghost::Tensor value_head(const ghost::Tensor& hidden_states);

  const PreparedModel& model_;
  HiddenStates hidden_states_;
  nn::Scope scope_;
  nn::Dropout dropout_;
  nn::Linear summary_;
};

}  // namespace memtape::transformers::llama_factory
