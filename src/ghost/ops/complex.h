// SPDX-License-Identifier: Apache-2.0
// Complex numbers, as some rotary embeddings use them. The ghost of a complex64 tensor is a float32
// tensor with a last dimension of 2: it has the same bytes and the same order of dimensions
// (aten/src/ATen/native/ComplexHelper.h).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// torch.polar(torch.ones_like(angles), angles), without gradients.
Tensor polar_of_ones(const Tensor& angles);

/// torch.view_as_complex and torch.view_as_real: both show the same memory. Their gradients are
/// made contiguous.
Tensor view_as_complex(const In& pairs);
Tensor view_as_real(const In& numbers);

/// The product with complex numbers that require no gradient.
Tensor complex_mul(const In& self, const Tensor& other);

}  // namespace memtape::ghost
