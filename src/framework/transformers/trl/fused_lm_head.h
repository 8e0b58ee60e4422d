// SPDX-License-Identifier: Apache-2.0
// trl 1.16's add_fused_lm_head (trainer/utils.py): a model's forward that gives log-probabilities
// of its labels in place of logits, for the positions whose label counts.
#pragma once

#include <cstdint>

#include "family/pretrained.h"

namespace memtape::transformers::trl {

/// FusedCausalLMOutput: per-token fields [B, S - 1].
struct FusedOutput {
  ghost::Tensor loss, log_probs, entropy, is_top1, label_mask;
};

/// How many labels are not -100, and whether entropy and is_top1 are wanted, too.
struct FusedCount {
  std::int64_t scored = 0;
  bool extras = false;
};

/// model(..., fused_lm_head=True)
FusedOutput fused_forward(family::PretrainedModel& model, const family::Batch& inputs,
                          FusedCount count);

}  // namespace memtape::transformers::trl
