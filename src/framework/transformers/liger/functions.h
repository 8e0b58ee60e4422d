// SPDX-License-Identifier: Apache-2.0
// Liger's fused functions (liger-kernel 0.8, ops/rms_norm.py, swiglu.py, geglu.py, rope.py): one
// Triton kernel each way, whose backward writes gradients over what it no longer needs.
#pragma once

#include <utility>

#include "ghost/tensor.h"

namespace memtape::transformers::liger {

using ghost::Tensor;

/// LigerRMSNormFunction; `in_place`: backward writes over the gradient it is given.
Tensor rms_norm(const Tensor& x, const Tensor& weight, bool in_place);

/// LigerSiLUMulFunction, LigerGELUMulFunction: act(a) * b, whose gradients are written over a and
/// b.
Tensor activated_product(const char* name, const Tensor& a, const Tensor& b);

/// liger_rotary_pos_emb: q and k [B, H, S, D] are rotated where they lie.
std::pair<Tensor, Tensor> rotary_pos_emb(const Tensor& q, const Tensor& k, const Tensor& cos,
                                         const Tensor& sin);

}  // namespace memtape::transformers::liger
