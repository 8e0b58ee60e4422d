// SPDX-License-Identifier: Apache-2.0
// The attention functions among which config._attn_implementation chooses:
// integrations/sdpa_attention.py and the eager_attention_forward of each family. The latter differ
// in little (see AttentionCall).
#pragma once

#include <optional>

#include "family/pretrained.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {

/// How an eager_attention_forward takes the softmax of its scores.
enum class EagerSoftmax {
  float32,      ///< softmax(dtype=torch.float32).to(query.dtype): most families
  plain,        ///< softmax(): BERT and its kin
  value_dtype,  ///< softmax().type(value.dtype): GPT-2
};

struct AttentionCall {
  AttentionImplementation implementation = AttentionImplementation::sdpa;
  std::int64_t num_key_value_groups = 1;
  double dropout = 0.0;
  bool is_causal = true;
  std::optional<double> softcap =
      std::nullopt;  ///< eager attention only: the height of a tanh over the scores
  EagerSoftmax eager_softmax = EagerSoftmax::float32;
  bool eager_output_packed =
      true;  ///< transpose(1, 2).contiguous(); GPT-2 leaves the copy to its reshape
  const Change* interface_since =
      &changes::kAttentionsAreInterfaces;  ///< before that: written_out_attention
  bool added_mask_in_place = false;        ///< before that, to eager attention's scores
  bool picks_mask_rows = false;  ///< before that, of a mask of all positions (see EarlyMasks)
};

/// Returns [B, S, H, D] for q [B, H, S, D], k and v [B, Hkv, S, D]. A float `attention_mask` is
/// added to the scores; a bool one says what is seen.
Tensor attention_interface(const AttentionCall& call, const Tensor& query, const Tensor& key,
                           const Tensor& value, const Tensor& attention_mask);

/// The same attention as modules had it written out before. Their code reuses the names of its
/// arguments, so `query`, `key` and `value` hold what is made of them.
Tensor written_out_attention(const AttentionCall& call, Tensor& query, Tensor& key, Tensor& value,
                             const Tensor& attention_mask);

/// [B, Hkv, S, D] to [B, Hkv * n, S, D], a copy unless n is 1.
Tensor repeat_kv(const Tensor& hidden_states, std::int64_t n_rep);

}  // namespace memtape::family
