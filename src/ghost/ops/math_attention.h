// SPDX-License-Identifier: Apache-2.0
// Attention as a chain of plain ops, which torch falls back to (_scaled_dot_product_attention_math
// of aten/src/ATen/native/transformers/attention.cpp). It computes 16-bit inputs in float32 and
// repeats grouped keys and values.
#pragma once

#include "ghost/ops/attention.h"

namespace memtape::ghost {

/// `mask` is additive; it may be undefined.
Tensor math_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                      const Tensor& mask, const AttentionOptions& options);

/// convert_boolean_attn_mask: it turns a bool mask into 0 and -inf of `dtype`, and returns any
/// other mask as it is.
Tensor additive_mask(const Tensor& mask, DType dtype);

}  // namespace memtape::ghost
