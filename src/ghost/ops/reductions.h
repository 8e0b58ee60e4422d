// SPDX-License-Identifier: Apache-2.0
// Reductions: sum, mean, softmax and similar ops, with the scratch memory that the reduction
// kernel's host code takes.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// at::sum_to: sums `self` down to `sizes`, along the dimensions that broadcasting had spread.
Tensor sum_to(const In& self, const Dims& sizes);

/// torch.norm(self, p=1, dim=-1, keepdim=True).
Tensor norm_1(const In& self);

/// self.sum(dim=(-1, -2)), where `self` requires no gradient.
Tensor sum_last_two(const In& self);

/// The sum and the mean of all elements, as tensors without dimensions.
Tensor sum_all(const In& self);
Tensor mean_all(const In& self);

/// softmax and log_softmax along the last dimension. One fused kernel computes a float32 result
/// from a float16 input.
Tensor softmax(const In& self, DType dtype);
Tensor log_softmax(const In& self, DType dtype);

/// aten::_softmax_backward_data: the gradient in `input_dtype`, computed by way of grad * result
/// (SoftMax.cu).
Tensor softmax_backward_data(const Tensor& grad, const Tensor& result, DType input_dtype);

/// The cumulative sum along the last dimension, without gradients. Inputs of bool and int are cast
/// to int64 first.
Tensor cumsum(const In& self);

/// torch.linalg.vector_norm over all elements.
Tensor vector_norm(const In& self);
/// The same along `d`, which stays as a dimension of size 1.
Tensor vector_norm(const In& self, int d);

/// max(): the largest element, as a tensor without dimensions.
Tensor max_all(const In& self);

/// argmax(-1), without gradients.
Tensor argmax(const In& self);

/// all() and any() give one bool.
Tensor all(const In& self);
Tensor any(const In& self);
/// any(dim=d)
Tensor any(const In& self, int d);

}  // namespace memtape::ghost
