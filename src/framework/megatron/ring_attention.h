// SPDX-License-Identifier: Apache-2.0
// Attention over a context parallel group: keys and values go around the ring, in one buffer for
// each step, and partial outputs are merged (AttnFuncWithCPAndKVP2P of Transformer Engine's
// pytorch/attention/dot_product_attention/context_parallel.py). Every second step runs on a
// separate stream. The rank that is run here is the last one of the group: it needs all of its
// queries in each step, while the others need only half of them in some steps.
#pragma once

#include <array>
#include <functional>

#include "framework/megatron/linear.h"

namespace memtape::megatron {

/// What the backward of a kernel takes in addition to the gradients of query, key and value.
using AttentionScratch = std::function<void(const Tensor& query, const Tensor& key)>;

/// `rows` are the sizes of the statistic of one step.
Tensor ring_attention(Rank& rank, const std::array<Tensor, 3>& qkv, const Dims& rows,
                      AttentionScratch scratch);

}  // namespace memtape::megatron
