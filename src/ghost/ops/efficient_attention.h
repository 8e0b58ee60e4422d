// SPDX-License-Identifier: Apache-2.0
// Memory-efficient attention (aten/src/ATen/native/transformers/cuda/attention.cu,
// attention_backward.cu). Forward keeps q, k, v, the additive mask, the output and the float32
// log-sum-exp, whose rows are padded to 32. The seeds of dropout stay on the host.
#pragma once

#include "ghost/ops/attention.h"

namespace memtape::ghost {

/// _scaled_dot_product_efficient_attention of q [B, H, S, D] and of k and v [B, H, Skv, D]. `bias`
/// [B, H, S, Skv] may be undefined.
Tensor efficient_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                           const Tensor& bias, const AttentionOptions& options);

/// One call of the kernel, without a mask and without history.
KernelForward efficient_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                double dropout);
KernelGradients efficient_backward(const Tensor& grad_out, const Tensor& query, const Tensor& key,
                                   const Tensor& value, const Tensor& out, double dropout);

}  // namespace memtape::ghost
