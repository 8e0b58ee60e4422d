// SPDX-License-Identifier: Apache-2.0
// trl 1.16's add_fused_lm_head (trainer/utils.py): a model's forward that gives log-probabilities
// of its labels in place of logits, for the positions whose label counts.
#pragma once

#include <cstdint>

#include "family/pretrained.h"
#include "framework/transformers/prepared_model.h"
#include "framework/transformers/trl/chunked_logprob.h"

namespace memtape::transformers::trl {

/// FusedCausalLMOutput: per-token fields [B, S - 1].
struct FusedOutput {
  ghost::Tensor loss, log_probs, entropy, mean_logits, is_top1, label_mask;
  ghost::Tensor aux_loss;  ///< of experts, where it was asked for
};

/// How many labels are not -100, and what is wanted beside log-probabilities.
struct FusedCount {
  std::int64_t scored = 0;
  LogProbOutputs outputs;
  bool balances_experts = false;  ///< output_router_logits=True
};

/// model(..., fused_lm_head=True)
FusedOutput fused_forward(family::PretrainedModel& model, const family::Batch& inputs,
                          FusedCount count, const GatherHead& gather_head = {});

/// The same through what wraps the model.
FusedOutput fused_forward(const PreparedModel& model, const family::Batch& inputs, FusedCount count,
                          PreparedModel::Callee callee = PreparedModel::Callee::model_wrapped);

}  // namespace memtape::transformers::trl
