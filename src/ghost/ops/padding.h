// SPDX-License-Identifier: Apache-2.0
// Padding: constant_pad_nd of aten/src/ATen/native/PadNd.cpp, along the last dimension.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// torch.nn.functional.pad(x, (before, after)): a packed tensor of the new sizes; a negative count
/// cuts, into a copy.
Tensor pad_last(const In& x, std::int64_t before, std::int64_t after);

}  // namespace memtape::ghost
