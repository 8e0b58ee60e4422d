// SPDX-License-Identifier: Apache-2.0
// flex_attention (torch.nn.attention.flex_attention) as torch.compile runs it by itself: one Triton
// kernel forward, one backward (torch/_inductor/kernel/flex/flex_attention.py). What a mask forbids is
// skipped by blocks and makes no tensor of scores.
#pragma once

#include <vector>

#include "ghost/tensor.h"

namespace memtape::ghost {

/// Heads are [B, H, S, D] of any strides; the output lies in memory as the queries do. Queries, keys,
/// values, the output and a float32 number a row (logsumexp) are kept for backward.
Tensor flex_attention(const Tensor& q, const Tensor& k, const Tensor& v);

/// BlockMask of create_block_mask with its blocks of 128 x 128: for rows and for columns, how many
/// blocks are partly and wholly allowed, and which. `documents` are the [B, S] numbers of a mask by
/// documents.
struct BlockMask {
  Tensor documents;
  std::vector<Tensor> counts, indices;
};
BlockMask block_mask_of_documents(const Tensor& tokens);

}  // namespace memtape::ghost
