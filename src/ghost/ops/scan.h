// SPDX-License-Identifier: Apache-2.0
// Scans: cumulative sums (aten/src/ATen/native/ReduceOps.cpp, cuda/ScanKernels.cpp, ScanUtils.cuh).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// torch.cumsum along `d`, which gives a packed tensor. Backward sums from the other end.
Tensor cumsum(const In& self, int d);

}  // namespace memtape::ghost
