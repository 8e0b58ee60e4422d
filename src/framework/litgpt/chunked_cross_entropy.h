// SPDX-License-Identifier: Apache-2.0
// chunked_cross_entropy of litgpt (0.5.13, utils.py): cross entropy in chunks of 128 tokens, so
// that the first gradient of a backward is not as large as all logits.
#pragma once

#include <vector>

#include "ghost/tensor.h"

namespace memtape::litgpt {

using ghost::Tensor;

inline constexpr std::int64_t kChunkSize = 128;

/// The sizes of the pieces that torch.split makes of `total` elements: kChunkSize each, and the
/// rest.
std::vector<std::int64_t> chunk_sizes(std::int64_t total);

/// The loss of logits [B, T - 1, V] in one tensor, and targets [B, T - 1].
Tensor chunked_cross_entropy(const Tensor& logits, const Tensor& targets);
/// The loss of logits that the head has made in chunks along T.
Tensor chunked_cross_entropy(const std::vector<Tensor>& logits, const Tensor& targets);

}  // namespace memtape::litgpt
