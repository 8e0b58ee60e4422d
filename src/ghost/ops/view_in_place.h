// SPDX-License-Identifier: Apache-2.0
// In-place ops on views: what autograd does when a program writes to a view
// (torch/csrc/autograd/functions/tensor.cpp, CopySlices). The base gets a new history, and the view
// gets one that leads to the base by as_strided.
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

/// view *= other, where `other` requires no gradient and `view` shows all elements of its base.
void mul_view_(const Tensor& view, const Tensor& other);

/// view += other, with the same conditions, where `other` may require a gradient.
void add_view_(const Tensor& view, const In& other);

/// view /= a number on the host. It shows all elements of its base, or lacks some of dimension 1.
void div_view_(const Tensor& view);

}  // namespace memtape::ghost
