// SPDX-License-Identifier: Apache-2.0
// Attention over a context parallel group: keys and values go round the ring in one buffer a step,
// partial outputs are merged (AttnFuncWithCPAndKVP2P of Transformer Engine's
// pytorch/attention/dot_product_attention/context_parallel.py). Every other step runs on a stream
// of its own. It is the last rank of the group that is run: in each step it needs all of its
// queries, the others half of them in some.
#pragma once

#include <array>
#include <functional>

#include "framework/megatron/linear.h"

namespace memtape::megatron {

/// What a kernel's backward takes beside the gradients of query, key and value.
using AttentionScratch = std::function<void(const Tensor& query, const Tensor& key)>;

/// `rows`: the sizes of the statistic of one step.
Tensor ring_attention(Rank& rank, const std::array<Tensor, 3>& qkv, const Dims& rows,
                      AttentionScratch scratch);

}  // namespace memtape::megatron
