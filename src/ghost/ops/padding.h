// SPDX-License-Identifier: Apache-2.0
// Padding along one dimension: constant_pad_nd of aten/src/ATen/native/PadNd.cpp.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// torch.nn.functional.pad of dimension `d`, which gives a packed tensor of the new sizes. A
/// negative count cuts elements off; where nothing is added, the result is a copy.
Tensor pad(const In& x, int d, std::int64_t before, std::int64_t after);
Tensor pad_last(const In& x, std::int64_t before, std::int64_t after);

}  // namespace memtape::ghost
