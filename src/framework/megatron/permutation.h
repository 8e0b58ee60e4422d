// SPDX-License-Identifier: Apache-2.0
// Sorts tokens by expert, and back (permute, unpermute and sort_chunks_by_idxs of
// megatron/core/transformer/moe/moe_utils.py). It uses PyTorch's operations or, with
// --moe-permute-fusion, Transformer Engine's kernels (transformer_engine/pytorch/permutation.py).
#pragma once

#include "framework/megatron/function.h"

namespace memtape::megatron {

/// The rows of tokens, and for each row the weight with which its expert counts.
struct Tokens {
  Tensor hidden, probs;
};

/// Rows sorted by expert, and where they came from.
struct Permuted {
  Tokens tokens;
  Tensor mapping;
};

struct PermuteOptions {
  std::int64_t count = 0;  ///< the number of rows that come out
  bool fused = false;
  bool pads = false;           ///< each expert gets equally many (drop_and_pad)
  bool by_sort = false;        ///< argsort finds them (since commit e19fbe2e), not masked_select
  bool deterministic = false;  ///< torch.use_deterministic_algorithms
};

/// `probs` may be undefined; then only the rows are sorted.
Permuted permute(const Tensor& rows, const Tensor& map, const Tensor& probs,
                 const PermuteOptions& options);

/// Adds up the rows of each token, as [tokens, hidden].
Tensor unpermute(const Tensor& rows, const Tensor& mapping, std::int64_t tokens,
                 const PermuteOptions& options);

/// Takes rows in `parts` times `chunks` pieces and puts all first pieces together, then all second
/// ones, and so on.
Tensor sort_chunks(const Tensor& rows, std::int64_t parts, std::int64_t chunks, bool fused);

}  // namespace memtape::megatron
