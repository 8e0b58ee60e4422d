// SPDX-License-Identifier: Apache-2.0
// Joining tensors and taking them apart: cat, split and index.
#pragma once

#include <initializer_list>
#include <vector>

#include "ghost/tensor.h"

namespace memtape::ghost {

/// torch.cat along `d`. Operands that are temporaries are dropped when it is done.
Tensor cat(std::initializer_list<In> tensors, int d);
Tensor cat(const std::vector<Tensor>& tensors, int d);

/// torch.stack along a new last dimension: it is cat of the unsqueezed tensors
/// (aten/src/ATen/native/TensorShape.cpp).
Tensor stack_last(std::initializer_list<In> tensors);
Tensor stack_last(const std::vector<Tensor>& tensors);

/// self.unbind(d): a view of each index.
std::vector<Tensor> unbind(const Tensor& self, int d = 0);

}  // namespace memtape::ghost
