// SPDX-License-Identifier: Apache-2.0
// Scans: cumulative sums (aten/src/ATen/native/ReduceOps.cpp, cuda/ScanKernels.cpp, ScanUtils.cuh).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// torch.cumsum along `d`: a packed tensor; backward sums from the other end.
Tensor cumsum(const In& self, int d);

}  // namespace memtape::ghost
