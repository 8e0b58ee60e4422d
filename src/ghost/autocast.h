// SPDX-License-Identifier: Apache-2.0
// Autocast: what torch.autocast does to the operands of an op (aten/src/ATen/autocast_mode.h).
// Products run in the low dtype, some functions in float32, some reductions give float32. Casts of
// float32 leaf weights that want gradients are made once and kept until the outermost context ends;
// every other operand is cast anew.
//
// An op casts its operands LAST TO FIRST: WrapFunction_ casts them in the arguments of one call,
// which GCC evaluates from the right. So declare the Autocasted of the last argument first.
#pragma once

#include "ghost/session.h"
#include "ghost/tensor.h"

namespace memtape::ghost {

enum class CastPolicy {
  lower_precision,  ///< matmul, linear, mm, bmm, addmm, scaled_dot_product_attention, convolutions
  fp32,  ///< layer_norm, group_norm, pow, rsqrt, exp, log, reciprocal, softplus, logsumexp, most
         ///< losses
};

/// An operand as autocast passes it on: outside autocast the operand itself, under autocast itself
/// or its cast. The cast lives as long as this.
class Autocasted {
 public:
  Autocasted(const Tensor& operand, CastPolicy policy);
  const Tensor& operator*() const { return cast_.defined() ? cast_ : operand_; }
  const Tensor* operator->() const { return &**this; }

 private:
  const Tensor& operand_;
  Tensor cast_;
};

/// Policy fp32_set_opt_dtype: the dtype that softmax, log_softmax, sum, prod, cumsum or vector_norm
/// of `operand` gives when the caller names none. The operand itself is not cast: that is left to
/// the kernel.
DType reduction_dtype(const Tensor& operand);

/// `with torch.autocast("cuda", dtype, enabled)`: leaving the outermost enabled one drops the kept
/// casts.
class AutocastContext {
 public:
  AutocastContext(bool enabled, DType dtype);
  ~AutocastContext();
  AutocastContext(const AutocastContext&) = delete;
  AutocastContext& operator=(const AutocastContext&) = delete;

 private:
  bool enabled_before_;
  DType dtype_before_;
};

}  // namespace memtape::ghost
