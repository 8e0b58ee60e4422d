// SPDX-License-Identifier: Apache-2.0
// Triangular systems: torch.linalg.solve_triangular (aten/src/ATen/native/BatchLinearAlgebra.cpp,
// native/cuda/linalg/BatchLinearAlgebraLibBlas.cpp).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// X of A X = B, for lower triangular A [..., N, N] with ones on the diagonal and B [..., N, M]; X
/// lies column by column.
Tensor solve_unit_lower_triangular(const Tensor& A, const Tensor& B);

}  // namespace memtape::ghost
