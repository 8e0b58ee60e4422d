// SPDX-License-Identifier: Apache-2.0
// Triangular matrices: tril and triu, which cut one out of a matrix, and the systems of
// torch.linalg.solve_triangular (aten/src/ATen/native/BatchLinearAlgebra.cpp,
// native/cuda/linalg/BatchLinearAlgebraLibBlas.cpp).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// self.tril(diagonal): zeros above that diagonal.
Tensor tril(const In& self, int diagonal = 0);
/// self.triu(diagonal), without gradients: zeros below that diagonal.
Tensor triu(const In& self, int diagonal = 0);

/// X of A X = B, for lower triangular A [..., N, N] with ones on the diagonal and B [..., N, M]; X
/// lies column by column.
Tensor solve_unit_lower_triangular(const Tensor& A, const Tensor& B);

}  // namespace memtape::ghost
