// SPDX-License-Identifier: Apache-2.0
// What changed between releases of vLLM in models that encode texts, as far as it affects memory.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kVllmEncodesOnV1{
    Package::vllm,
    {0, 10, 2},
    "Encoders run on the V1 engine with attention of their own, which has no KV cache. There is "
    "none in 0.10.1.1 and one in 0.10.2.",
    "vllm/attention/layers/encoder_only_attention.py:EncoderOnlyAttention.get_kv_cache_spec"};

}  // namespace memtape::changes
