// SPDX-License-Identifier: Apache-2.0
// flash_attn_varlen_func of the package flash-attn (2.8.3, flash_attn_interface.py and
// csrc/flash_attn/flash_api.cpp: mha_varlen_fwd, mha_varlen_bwd): attention within sequences that
// follow each other in one row. Forward keeps q, k, v, the output, the float32 log-sum-exp [H, N]
// and two words of the random generator. Backward pads each sequence by a block of 128 rows.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// Where the sequences begin and end: [n + 1] of int32.
struct SequenceBounds {
  Tensor queries, keys;
};

/// q is [N, H, D], k and v are [N, Hkv, D]; D is a multiple of 8.
Tensor flash_attn_varlen(const Tensor& query, const Tensor& key, const Tensor& value,
                         const SequenceBounds& bounds);

}  // namespace memtape::ghost
