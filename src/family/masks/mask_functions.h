// SPDX-License-Identifier: Apache-2.0
// The index functions of masking_utils.py. Each takes index tensors that broadcast to [B, 1, Sq,
// Skv] and returns a bool tensor.
#pragma once

#include "family/pretrained.h"

namespace memtape::family {

/// The indices of batch, query and key: int64 [B, 1, 1, 1], [1, 1, Sq, 1] and [1, 1, 1, Skv].
struct MaskIndices {
  Tensor batch, query, key;
};

/// The value that and_masks starts with: q_idx.new_ones((), dtype=torch.bool). Under vmap there is
/// one for each q_idx.
Tensor all_true(const MaskIndices& at);
/// The same where torch.vmap runs the pattern: a truth for each query.
Tensor all_true_by_vmap(const MaskIndices& at);

Tensor causal(const MaskIndices& at);
Tensor bidirectional(const MaskIndices& at);
Tensor sliding_window_causal(const MaskIndices& at);
Tensor sliding_window_bidirectional(const MaskIndices& at);

/// Whether query and key lie in one chunk, counted from the first token of each row.
Tensor chunked_causal(const MaskIndices& at, const Tensor& left_padding);

/// Whether query and key lie in one sequence of a packed row: packed_sequence_mask[batch_idx,
/// q_idx] == packed_sequence_mask[batch_idx, kv_idx].
Tensor packed_sequence(const MaskIndices& at, const Tensor& packed_sequence_mask);

/// Whether query and key lie in one block of images (blockwise_overlay).
Tensor one_block(const MaskIndices& at, const Tensor& block_sequence_ids);

/// padding_mask[batch_idx, kv_idx]: [B, 1, 1, Skv].
Tensor padding(const MaskIndices& at, const Tensor& padding_mask);

}  // namespace memtape::family
