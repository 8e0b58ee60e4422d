// SPDX-License-Identifier: Apache-2.0
// Products: mm, bmm, addmm, and how matmul and linear choose among them
// (aten/src/ATen/native/LinearAlgebra.cpp, Linear.cpp). The first product of a thread takes
// cuBLAS's workspace (aten/src/ATen/cuda/CublasHandlePool.cpp).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

Tensor mm(const In& self, const In& mat2);
Tensor bmm(const In& self, const In& mat2);
Tensor addmm(const In& bias, const In& mat1, const In& mat2);
/// self.baddbmm(batch1, batch2, beta=1, alpha), where `self` requires no gradient.
Tensor baddbmm(const In& self, const In& batch1, const In& batch2, double alpha);
/// torch.baddbmm(unread, batch1, batch2, beta=0, alpha), which does not read its first argument.
Tensor baddbmm(const In& batch1, const In& batch2, double alpha);

Tensor matmul(const In& self, const In& other);

/// torch.nn.functional.linear; `bias` may be undefined.
Tensor linear(const In& input, const Tensor& weight, const Tensor& bias);

/// The workspace of the current thread's cuBLAS handle. It is allocated at its first use and kept
/// as long as the process lives.
void use_cublas();

}  // namespace memtape::ghost
