// SPDX-License-Identifier: Apache-2.0
// torch.nn.functional.mse_loss with the mean of all elements (aten/src/ATen/native/Loss.cpp).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

Tensor mse_loss(const Tensor& input, const Tensor& target);

}  // namespace memtape::ghost
