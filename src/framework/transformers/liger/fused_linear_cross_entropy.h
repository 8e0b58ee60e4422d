// SPDX-License-Identifier: Apache-2.0
// LigerFusedLinearCrossEntropyFunction (liger-kernel 0.8, ops/fused_linear_cross_entropy.py): head
// and loss in chunks of tokens, so that the logits of one chunk are all there ever is of them; the
// gradients of hidden states and head are made on the way forward and kept.
#pragma once

#include "ghost/tensor.h"

namespace memtape::transformers::liger {

using ghost::Tensor;

/// The summed loss of `input` [N, H] under `weight` [V, H] and `target` [N].
Tensor fused_linear_cross_entropy(const Tensor& input, const Tensor& weight, const Tensor& target);

}  // namespace memtape::transformers::liger
