// SPDX-License-Identifier: Apache-2.0
// What every ConvolutionBackward0 holds, whichever kernels aten::convolution_backward chooses
// (aten/src/ATen/native/Convolution.cpp).
#pragma once

#include "ghost/autograd/node.h"
#include "ghost/ops/reduce_kernel.h"

namespace memtape::ghost {

struct ConvolutionNode : Node {
  ConvolutionNode() : Node("ConvolutionBackward0") {}
  void release() override {
    input.reset();
    weight.reset();
  }
  void keep(const Tensor& input_, const Tensor& weight_) {
    input.keep(input_);
    weight.keep(weight_);
  }

  /// The sum over all dimensions except the channels.
  static Tensor bias_gradient(const Tensor& grad) {
    Op op("sum", {});
    Tensor sum = empty({grad.size(1)}, grad.dtype());
    reduce_scratch(grad, all_dims(grad.dim()) & ~dim_set(1), grad.dtype());
    return sum;
  }

  Saved input, weight;
};

}  // namespace memtape::ghost
