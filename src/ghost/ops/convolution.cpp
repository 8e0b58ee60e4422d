// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/convolution.h"

#include "ghost/autocast.h"
#include "ghost/ops/convolution_node.h"

namespace memtape::ghost {
namespace {

/// convolution_backward by way of conv_depthwise2d_backward_cuda: the weight's gradient before the
/// input's, the bias's as a sum.
struct PlainConvolutionBackward0 final : ConvolutionNode {
  void apply(Gradients& in, Gradients& out) override {
    const Tensor x = input.unpack(), filter = weight.unpack();
    Op op("convolution_backward", {});
    const Tensor packed = x.contiguous();
    const Tensor grad = in[0].contiguous();
    if (wants(1)) out[1] = empty(filter.sizes(), filter.dtype());
    if (wants(0)) out[0] = empty(packed.sizes(), packed.dtype());
    if (wants(2)) out[2] = bias_gradient(grad);
  }
};

Tensor run_slow_convolution(const Tensor& input, const Tensor& weight, const Tensor& bias,
                            std::int64_t padding) {
  const In operand(input), filter(weight), shift(bias);
  Op op("convolution", {&operand, &filter, &shift});
  Ptr<PlainConvolutionBackward0> node;
  if (op.differentiable()) {
    node = op.node<PlainConvolutionBackward0>({&input, &weight, &bias});
    node->keep(input, weight);
  }
  const GradMode below_autograd(false);
  const Tensor packed = input.contiguous();
  Dims sizes = packed.sizes();
  sizes[-1] += 2 * padding - weight.size(-1) + 1;
  Tensor out = empty(sizes, packed.dtype());
  if (node) set_history(out, node);
  return out;
}

}  // namespace

Tensor depthwise_conv1d(const In& input, const Tensor& weight, const Tensor& bias,
                        std::int64_t padding) {
  constexpr CastPolicy kLow = CastPolicy::lower_precision;
  Tensor out;
  {
    const Autocasted shift(bias, kLow), filter(weight, kLow), x(*input, kLow);
    out = run_slow_convolution(*x, *filter, *shift, padding);
  }
  input.release();
  return out;
}

}  // namespace memtape::ghost
