// SPDX-License-Identifier: Apache-2.0
// Rotations of neighbours with cos and sin that hold each frequency once per half: they are
// repeated so that each comes twice in a row (GLM's and ERNIE's apply_rotary_pos_emb of
// transformers 5.17).
#pragma once

#include "family/parts/rope.h"

namespace memtape::family {

/// cos and sin [B, 1, S, D] of [B, S, D], each frequency twice in a row.
CosSin repeated_in_pairs(const CosSin& cos_sin);

/// Rotates q and k [B, H, S, D].
std::pair<Tensor, Tensor> rotate_pairs(const Tensor& q, const Tensor& k, const CosSin& cos_sin);
/// The same in float32.
std::pair<Tensor, Tensor> rotate_pairs_in_float(const Tensor& q, const Tensor& k,
                                                const CosSin& cos_sin);
/// The same for the first part of each head.
std::pair<Tensor, Tensor> rotate_pairs_of_part(const Tensor& q, const Tensor& k,
                                               const CosSin& cos_sin);
/// The same with cos and sin that hold each frequency twice in a row already.
std::pair<Tensor, Tensor> rotate_given_pairs_of_part(const Tensor& q, const Tensor& k,
                                                     const CosSin& cos_sin);

}  // namespace memtape::family
