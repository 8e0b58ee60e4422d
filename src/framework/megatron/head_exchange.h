// SPDX-License-Identifier: Apache-2.0
// Attention over a context parallel group whose ranks exchange heads (--cp-comm-type a2a,
// AttnFuncWithCPAndQKVOA2A of Transformer Engine's
// pytorch/attention/dot_product_attention/context_parallel.py): each rank gets all tokens of a
// share of the heads, attends to them as if it were alone, and gives the output back for its own
// tokens. What backward needs is the exchanged copies, the output before it is given back among
// them. Chunks of the sequence are put in order on the stream that ring attention has, too.
#pragma once

#include <array>

#include "framework/megatron/ring_attention.h"

namespace memtape::megatron {

/// `tokens` is the dimension of the sequence, and `rows` are the sizes of the statistic without an
/// exchange; as many are kept with one.
Tensor exchanged_heads_attention(Rank& rank, const std::array<Tensor, 3>& qkv, int tokens,
                                 const Dims& rows, AttentionScratch scratch);

}  // namespace memtape::megatron
