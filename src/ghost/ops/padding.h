// SPDX-License-Identifier: Apache-2.0
// Padding: constant_pad_nd of aten/src/ATen/native/PadNd.cpp, along one dimension.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// torch.nn.functional.pad of dimension `d`: a packed tensor of the new sizes; where nothing is
/// added, and a negative count cuts, a copy.
Tensor pad(const In& x, int d, std::int64_t before, std::int64_t after);
Tensor pad_last(const In& x, std::int64_t before, std::int64_t after);

}  // namespace memtape::ghost
