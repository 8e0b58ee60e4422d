// SPDX-License-Identifier: Apache-2.0
// Reductions: sum, mean, softmax and their kin, with the scratch that the reduction kernel's host
// code takes.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// `self` summed down to `sizes` (at::sum_to): what broadcasting spread comes together again.
Tensor sum_to(const In& self, const Dims& sizes);

/// torch.norm(self, p=1, dim=-1, keepdim=True).
Tensor norm_1(const In& self);

/// self.sum(dim=(-1, -2)) of what wants no gradient.
Tensor sum_last_two(const In& self);

/// Sum and mean of all elements, a tensor without dimensions.
Tensor sum_all(const In& self);
Tensor mean_all(const In& self);

/// softmax / log_softmax along the last dimension; a float16 input with a float32 result is one
/// fused kernel.
Tensor softmax(const In& self, DType dtype);
Tensor log_softmax(const In& self, DType dtype);

/// aten::_softmax_backward_data: the gradient in `input_dtype`, by way of grad * result
/// (SoftMax.cu).
Tensor softmax_backward_data(const Tensor& grad, const Tensor& result, DType input_dtype);

/// Cumulative sum along the last dimension, without gradients; bool and int inputs give int64 after
/// a cast.
Tensor cumsum(const In& self);

/// torch.linalg.vector_norm over all elements.
Tensor vector_norm(const In& self);
/// The same along `d`, which stays with size 1.
Tensor vector_norm(const In& self, int d);

/// max(): the largest element, a tensor without dimensions.
Tensor max_all(const In& self);

/// argmax(-1), without gradients.
Tensor argmax(const In& self);

/// all(), any(): one bool.
Tensor all(const In& self);
Tensor any(const In& self);
/// any(dim=d)
Tensor any(const In& self, int d);

}  // namespace memtape::ghost
