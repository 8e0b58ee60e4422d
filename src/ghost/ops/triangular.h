// SPDX-License-Identifier: Apache-2.0
// Triangular matrices: tril and triu cut one out of a matrix, and torch.linalg.solve_triangular
// solves a system of equations with one (aten/src/ATen/native/BatchLinearAlgebra.cpp,
// native/cuda/linalg/BatchLinearAlgebraLibBlas.cpp).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// self.tril(diagonal), which has zeros above that diagonal.
Tensor tril(const In& self, int diagonal = 0);
/// self.triu(diagonal), without gradients, which has zeros below that diagonal.
Tensor triu(const In& self, int diagonal = 0);

/// Solves A X = B for X. A [..., N, N] is lower triangular with ones on its diagonal, and B is
/// [..., N, M]. The columns of X are contiguous in memory.
Tensor solve_unit_lower_triangular(const Tensor& A, const Tensor& B);

}  // namespace memtape::ghost
