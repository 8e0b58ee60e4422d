// SPDX-License-Identifier: Apache-2.0
// Tokens sorted by expert and back (permute, unpermute and sort_chunks_by_idxs of
// megatron/core/transformer/moe/moe_utils.py), by PyTorch's operations or, with
// --moe-permute-fusion, by Transformer Engine's kernels
// (transformer_engine/pytorch/permutation.py).
#pragma once

#include "framework/megatron/function.h"

namespace memtape::megatron {

/// Rows of tokens and the weight of each for the expert it goes to.
struct Tokens {
  Tensor hidden, probs;
};

/// `count` rows, sorted by expert, and where they came from.
struct Permuted {
  Tokens tokens;
  Tensor mapping;
};

struct PermuteOptions {
  std::int64_t count = 0;  ///< of the rows that come out
  bool fused = false;
  bool pads = false;           ///< each expert gets as many (drop_and_pad)
  bool by_sort = false;        ///< found by argsort, as since e19fbe2e, not by masked_select
  bool deterministic = false;  ///< torch.use_deterministic_algorithms
};

/// `probs` may be undefined: then only the rows are sorted.
Permuted permute(const Tensor& rows, const Tensor& map, const Tensor& probs,
                 const PermuteOptions& options);

/// The rows of each token added up, [tokens, hidden].
Tensor unpermute(const Tensor& rows, const Tensor& mapping, std::int64_t tokens,
                 const PermuteOptions& options);

/// Rows in `parts` times `chunks` pieces, all first pieces brought together, then all second ones.
Tensor sort_chunks(const Tensor& rows, std::int64_t parts, std::int64_t chunks, bool fused);

}  // namespace memtape::megatron
