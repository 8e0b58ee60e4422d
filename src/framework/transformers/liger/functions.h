// SPDX-License-Identifier: Apache-2.0
// Liger's fused functions (liger-kernel 0.8, ops/rms_norm.py, swiglu.py, geglu.py, rope.py): each
// has one Triton kernel for forward and one for backward. The backward writes gradients over what
// it no longer needs.
#pragma once

#include <utility>

#include "ghost/tensor.h"

namespace memtape::transformers::liger {

using ghost::Tensor;

/// LigerRMSNormFunction. With `in_place`, backward overwrites the gradient that it is given.
Tensor rms_norm(const Tensor& x, const Tensor& weight, bool in_place);

/// LigerSiLUMulFunction and LigerGELUMulFunction: act(a) * b. Backward writes the gradients over a
/// and b.
Tensor activated_product(const char* name, const Tensor& a, const Tensor& b);

/// liger_rotary_pos_emb, which rotates q and k [B, H, S, D] in place.
std::pair<Tensor, Tensor> rotary_pos_emb(const Tensor& q, const Tensor& k, const Tensor& cos,
                                         const Tensor& sin);

}  // namespace memtape::transformers::liger
