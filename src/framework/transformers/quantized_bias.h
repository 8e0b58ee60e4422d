// SPDX-License-Identifier: Apache-2.0
// The bias of bitsandbytes' Linear4bit and Linear8bitLt.
#pragma once

#include "ghost/autograd/node.h"
#include "ghost/session.h"
#include "nn/layers.h"

namespace memtape::transformers {

/// forward (nn/modules.py): bias.data = bias.data.to(dtype). The bias keeps that dtype.
inline void cast_bias(const ghost::Tensor& bias, DType dtype) {
  if (!bias.defined() || bias.dtype() == dtype) return;
  const ghost::GradMode no_grad(false);
  const ghost::Tensor cast = bias.to(dtype);
  bias.impl().storage = cast.impl().storage;
  bias.impl().dtype = dtype;
  ghost::session().set_category(cast, Category::parameter);
}

/// backward (autograd/_functions.py) sums only over the first dimension. Autograd sums over the
/// rest (sum_to of validate_outputs).
inline ghost::Tensor bias_gradient(const ghost::Tensor& grad_output) {
  ghost::Tensor grad_bias = grad_output.sum(0);
  while (grad_bias.dim() > 1) grad_bias = grad_bias.sum(0);
  return grad_bias;
}

}  // namespace memtape::transformers
