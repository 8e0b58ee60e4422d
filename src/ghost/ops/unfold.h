// SPDX-License-Identifier: Apache-2.0
// unfold: windows along a dimension (aten/src/ATen/native/TensorShape.cpp, UnfoldBackward.cpp).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// self.unfold(-1, size, 1): a view whose new last dimension runs through the window that begins at
/// each place.
Tensor unfold_last(const In& self, std::int64_t size);

}  // namespace memtape::ghost
