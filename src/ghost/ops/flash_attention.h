// SPDX-License-Identifier: Apache-2.0
// FlashAttention 2 as it is part of torch
// (aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp). Forward keeps q, k, v, the
// output, the float32 log-sum-exp [B, H, S] and two words of the random generator (16 and 8 bytes).
#pragma once

#include "ghost/ops/attention.h"

namespace memtape::ghost {

/// _scaled_dot_product_flash_attention of q [B, H, S, D] and of k and v [B, Hkv, Skv, D], where D
/// is a multiple of 8.
Tensor flash_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                       const AttentionOptions& options);

/// One call of the kernel, without history.
KernelForward flash_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                            double dropout);
KernelGradients flash_backward(const Tensor& grad_out, const Tensor& query, const Tensor& key,
                               const Tensor& value, const Tensor& out);

}  // namespace memtape::ghost
