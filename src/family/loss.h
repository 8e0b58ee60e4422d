// SPDX-License-Identifier: Apache-2.0
// Losses of transformers' heads (loss/loss_utils.py).
#pragma once

#include "family/pretrained.h"

namespace memtape::family {

/// ForCausalLMLoss: logits in float32, labels padded and shifted by one, cross entropy as a mean,
/// or as a sum divided by num_items_in_batch. Takes over its own copy of logits.
Tensor causal_lm_loss(const Tensor& logits, const Batch& batch, std::int64_t vocab_size);

}  // namespace memtape::family
