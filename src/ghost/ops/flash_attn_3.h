// SPDX-License-Identifier: Apache-2.0
// flash_attn_func of FlashAttention 3 (hopper/flash_attn_interface.py and hopper/flash_api.cpp:
// mha_fwd, mha_bwd), also as vLLM builds it with sinks (kernels-community/vllm-flash-attn3).
// Forward keeps q, k, v, the output and the float32 log-sum-exp. Backward rounds queries and keys up
// to blocks, and sums dq, and for grouped queries dk and dv, in float32. Sinks have no gradient.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// q is [B, S, H, D], k and v are [B, Skv, Hkv, D], whose last dimension lies dense.
Tensor flash_attn_3(const Tensor& query, const Tensor& key, const Tensor& value);

}  // namespace memtape::ghost
