// SPDX-License-Identifier: Apache-2.0
// Attention with sinks: each head has a learned score that takes part in the softmax and is then
// dropped (eager_attention_forward of transformers 5.17 models/gpt_oss/modeling_gpt_oss.py and
// models/deepseek_v4/modeling_deepseek_v4.py). There is no other implementation of it in torch:
// models that ask for sdpa as the default get this one (get_correct_attn_implementation). A kernel
// of the hub, FlashAttention 3 as vLLM builds it, takes sinks (integrations/flash_attention.py:
// s_aux), for which it has no gradient.
#pragma once

#include "family/parts/attention_interface.h"

namespace memtape::family {

/// As attention_interface, with one sink per head.
Tensor sink_attention(const AttentionCall& call, const Tensor& query, const Tensor& key,
                      const Tensor& value, const Tensor& attention_mask, const Tensor& sinks);

/// The implementation that a model with sinks runs when `asked` for one.
AttentionImplementation sink_implementation(AttentionImplementation asked);

}  // namespace memtape::family
