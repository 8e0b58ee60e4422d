// SPDX-License-Identifier: Apache-2.0
// ForMaskedLMLoss of transformers 5.17 loss/loss_utils.py, the loss_function of the encoders that
// do not call CrossEntropyLoss themselves (ModernBERT, EuroBERT).
#pragma once

#include "family/pretrained.h"

namespace memtape::family {

/// Computes the loss in float32, divided by what Trainer has counted.
Tensor for_masked_lm_loss(const Tensor& model_logits, const Batch& batch, std::int64_t vocab_size);

}  // namespace memtape::family
