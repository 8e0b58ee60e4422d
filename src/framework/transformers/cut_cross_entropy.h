// SPDX-License-Identifier: Apache-2.0
// Cut Cross Entropy (ml-cross-entropy, cut_cross_entropy/cce.py, cce_lse_forward.py,
// indexed_dot.py, cce_backward.py and transformers/llama.py, in the fork that axolotl asks for):
// the loss straight from hidden states and head. Kernels hold logits by blocks in registers; what
// they leave in memory is a few numbers a scored token, one a word of the vocabulary, and locks.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "family/pretrained.h"

namespace memtape::transformers {

struct CutCrossEntropy {
  std::optional<std::int64_t> scored;  ///< labels that count; not said: all behind another token
  bool softcaps = false;               ///< final_logit_softcapping
};

/// What the loss depends on; an Error for a model without a head, or whose logits are scaled.
Result<CutCrossEntropy> cut_cross_entropy_of(const Config& config, family::PretrainedModel& model);

/// The forward that takes the place of the causal model's own.
family::ModelOutput cce_forward(family::PretrainedModel& model, const family::Batch& batch,
                                const CutCrossEntropy& loss);

}  // namespace memtape::transformers
