// SPDX-License-Identifier: Apache-2.0
// Attention as a chain of plain ops (_scaled_dot_product_attention_math of
// aten/src/ATen/native/transformers/attention.cpp): what torch falls back to. Halves are computed
// in float32, grouped keys and values are repeated.
#pragma once

#include "ghost/ops/attention.h"

namespace memtape::ghost {

/// `mask` is additive and may be undefined.
Tensor math_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                      const Tensor& mask, const AttentionOptions& options);

/// convert_boolean_attn_mask: a bool mask as 0 and -inf in `dtype`; any other mask as it is.
Tensor additive_mask(const Tensor& mask, DType dtype);

}  // namespace memtape::ghost
