// SPDX-License-Identifier: Apache-2.0
// add_fused_lm_head of trl 1.16 (trainer/utils.py): a forward of the model that returns
// log-probabilities of its labels instead of logits, for the positions whose labels count.
#pragma once

#include <cstdint>

#include "family/pretrained.h"
#include "framework/transformers/prepared_model.h"
#include "framework/transformers/trl/chunked_logprob.h"

namespace memtape::transformers::trl {

/// FusedCausalLMOutput, with fields [B, S - 1] for each token.
struct FusedOutput {
  ghost::Tensor loss, log_probs, entropy, mean_logits, is_top1, label_mask;
  ghost::Tensor aux_loss;  ///< that of experts, if it was asked for
  /// Where whole logits were made and kept: these, and what was scored of them.
  ghost::Tensor logits, scored_logits;
};

/// The number of labels that are not -100, and what is needed in addition to log-probabilities.
struct FusedCount {
  std::int64_t scored = 0;
  LogProbOutputs outputs;
  bool balances_experts = false;  ///< output_router_logits=True
  bool in_chunks = false;         ///< also in releases whose other losses take whole logits
  bool keeps_logits = false;      ///< whole ones live as long as the output (DPOTrainer)
};

/// model(..., fused_lm_head=True)
FusedOutput fused_forward(family::PretrainedModel& model, const family::Batch& inputs,
                          FusedCount count, const GatherHead& gather_head = {});

/// The same through what wraps the model.
FusedOutput fused_forward(const PreparedModel& model, const family::Batch& inputs, FusedCount count,
                          PreparedModel::Callee callee = PreparedModel::Callee::model_wrapped);

}  // namespace memtape::transformers::trl
