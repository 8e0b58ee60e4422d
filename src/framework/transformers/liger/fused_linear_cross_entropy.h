// SPDX-License-Identifier: Apache-2.0
// LigerFusedLinearCrossEntropyFunction (liger-kernel 0.8, ops/fused_linear_cross_entropy.py): it
// computes head and loss in chunks of tokens, so that only the logits of one chunk exist at a time.
// Forward already computes the gradients of hidden states and head, and keeps them.
#pragma once

#include "ghost/tensor.h"

namespace memtape::transformers::liger {

using ghost::Tensor;

/// The summed loss of `input` [N, H], with `weight` [V, H] and `target` [N].
Tensor fused_linear_cross_entropy(const Tensor& input, const Tensor& weight, const Tensor& target);

}  // namespace memtape::transformers::liger
