// SPDX-License-Identifier: Apache-2.0
// The index functions of masking_utils.py, each from index tensors that broadcast to [B, 1, Sq,
// Skv] to a bool tensor.
#pragma once

#include "family/pretrained.h"

namespace memtape::family {

/// int64 [B, 1, 1, 1], [1, 1, Sq, 1] and [1, 1, 1, Skv].
struct MaskIndices {
  Tensor batch, query, key;
};

/// and_masks' starting value, q_idx.new_ones((), dtype=torch.bool): under vmap, one for each q_idx.
Tensor all_true(const MaskIndices& at);

Tensor causal(const MaskIndices& at);
Tensor bidirectional(const MaskIndices& at);
Tensor sliding_window_causal(const MaskIndices& at);
Tensor sliding_window_bidirectional(const MaskIndices& at);

/// Tokens of one chunk, counted from each row's first token.
Tensor chunked_causal(const MaskIndices& at, const Tensor& left_padding);

/// Tokens of one sequence of a packed row: packed_sequence_mask[batch_idx, q_idx] ==
/// packed_sequence_mask[batch_idx, kv_idx].
Tensor packed_sequence(const MaskIndices& at, const Tensor& packed_sequence_mask);

/// padding_mask[batch_idx, kv_idx]: [B, 1, 1, Skv].
Tensor padding(const MaskIndices& at, const Tensor& padding_mask);

}  // namespace memtape::family
