// SPDX-License-Identifier: Apache-2.0
// LLaMA-Factory's PairwiseTrainer (0.9.5, train/rm/trainer.py), which trains a reward model: trl
// 0.24's AutoModelForCausalLMWithValueHead (models/modeling_value_head.py) puts a head of one
// number a token beside the language model's, whose logits and loss are made as well and forgotten.
#pragma once

#include "framework/transformers/llama_factory/hidden_states.h"
#include "framework/transformers/objective.h"
#include "framework/transformers/prepared_model.h"
#include "nn/layers.h"

namespace memtape::transformers::llama_factory {

/// A batch is [2 B, S]: the chosen sequences, then the rejected ones.
class PairwiseObjective final : public Objective {
 public:
  /// Puts the value head into the model's tree, behind all else.
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
