// SPDX-License-Identifier: Apache-2.0
// Cut Cross Entropy (ml-cross-entropy, cut_cross_entropy/cce.py, cce_lse_forward.py,
// indexed_dot.py, cce_backward.py and transformers/llama.py, in the fork that axolotl asks for): it
// computes the loss directly from hidden states and head. Its kernels hold blocks of logits in
// registers. In memory they leave a few numbers for each scored token, one for each word of the
// vocabulary, and locks.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "family/pretrained.h"

namespace memtape::transformers {

struct CutCrossEntropy {
  /// The labels that count; not set: all that have a token before them.
  std::optional<std::int64_t> scored;
  bool softcaps = false;  ///< final_logit_softcapping
};

/// What the loss depends on. It is an Error if the model has no head, or if its logits are scaled.
Result<CutCrossEntropy> cut_cross_entropy_of(const Config& config, family::PretrainedModel& model);

/// The forward that replaces the causal model's own.
family::ModelOutput cce_forward(family::PretrainedModel& model, const family::Batch& batch,
                                const CutCrossEntropy& loss);

}  // namespace memtape::transformers
