// SPDX-License-Identifier: Apache-2.0
// Writing into a part of a tensor. The view's copy_ gives the tensor itself a new history
// (torch/csrc/autograd/functions/tensor.cpp, CopySlices around CopyBackwards).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// view.copy_(source), where `view` shows a part of `tensor`.
void copy_into(const Tensor& tensor, const Tensor& view, const In& source);

/// tensor[..., start:end].copy_(source).
void copy_into_last(const Tensor& tensor, std::int64_t start, std::int64_t end, const In& source);

}  // namespace memtape::ghost
