// SPDX-License-Identifier: Apache-2.0
// The attention functions that models choose among by config._attn_implementation (integrations/sdpa_attention.py and each
// family's eager_attention_forward).
#pragma once

#include <optional>

#include "family/pretrained.h"

namespace memtape::family {

struct AttentionCall {
  AttentionImplementation implementation = AttentionImplementation::sdpa;
  std::int64_t num_key_value_groups = 1;
  double dropout = 0.0;
  bool is_causal = true;
  std::optional<double> softcap = std::nullopt;  ///< eager only: scores through a tanh of this height
};

/// Output [B, S, H, D] of q [B, H, S, D], k and v [B, Hkv, S, D].
Tensor attention_interface(const AttentionCall& call, const Tensor& query, const Tensor& key, const Tensor& value,
                           const Tensor& attention_mask);

/// [B, Hkv, S, D] to [B, Hkv * n, S, D], a copy unless n is 1.
Tensor repeat_kv(const Tensor& hidden_states, std::int64_t n_rep);

}  // namespace memtape::family
