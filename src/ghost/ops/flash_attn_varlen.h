// SPDX-License-Identifier: Apache-2.0
// flash_attn_varlen_func of the package flash-attn (2.8.3, flash_attn_interface.py and
// csrc/flash_attn/flash_api.cpp: mha_varlen_fwd, mha_varlen_bwd): attention within sequences that
// follow each other in one row. Forward keeps q, k, v, the output, the fp32 log-sum-exp [H, N] and
// a generator's two words; backward pads each sequence by a block of 128 rows.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// Bounds of the sequences, [n + 1] int32.
struct SequenceBounds {
  Tensor queries, keys;
};

/// q [N, H, D], k and v [N, Hkv, D], D a multiple of 8.
Tensor flash_attn_varlen(const Tensor& query, const Tensor& key, const Tensor& value,
                         const SequenceBounds& bounds);

}  // namespace memtape::ghost
