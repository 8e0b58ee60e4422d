// SPDX-License-Identifier: Apache-2.0
// ALiBi: a bias on the attention scores that grows with the distance, with a slope for each head;
// mirroring build_alibi_tensor of transformers 5.17 models/bloom/modeling_bloom.py and
// models/falcon/modeling_falcon.py.
#pragma once

#include "family/pretrained.h"

namespace memtape::family {

/// Returns [B * H, 1, S] in `dtype` for a mask [B, S]. Falcon takes the slopes in bfloat16.
Tensor build_alibi_tensor(const Tensor& attention_mask, std::int64_t num_heads, DType dtype,
                          bool bfloat16_slopes = false);

}  // namespace memtape::family
