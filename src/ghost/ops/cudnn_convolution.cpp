// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/cudnn_convolution.h"

#include "ghost/autocast.h"
#include "ghost/ops/convolution_node.h"

namespace memtape::ghost {
namespace {

/// convolution_backward by way of cudnn_convolution_backward: the gradient is packed while those of
/// input and weight are made; the bias's is a sum over it as it came.
struct CudnnConvolutionBackward0 final : ConvolutionNode {
  void apply(Gradients& in, Gradients& out) override {
    const Tensor x = input.unpack(), filter = weight.unpack();
    Op op("cudnn_convolution_backward", {}, Role::convolution);
    {
      const Tensor packed = wants(1) ? x.contiguous() : x;
      const Tensor grad = in[0].contiguous();
      if (wants(0)) out[0] = empty(x.sizes(), x.dtype());
      if (wants(1)) out[1] = empty(filter.sizes(), filter.dtype());
    }
    if (wants(2)) out[2] = bias_gradient(in[0]);
  }
};

/// conv_output_size.
Dims output_sizes(const Tensor& input, const Tensor& weight, std::int64_t stride,
                  std::int64_t padding) {
  Dims sizes = input.sizes();
  sizes[1] = weight.size(0);
  for (int d = 2; d < sizes.rank(); ++d)
    sizes[d] = (sizes[d] + 2 * padding - weight.size(d)) / stride + 1;
  return sizes;
}

Tensor run_cudnn(const Tensor& input, const Tensor& weight, const Tensor& bias, std::int64_t stride,
                 std::int64_t padding) {
  const In operand(input), filter(weight), shift(bias);
  Op op("cudnn_convolution", {&operand, &filter, &shift}, Role::convolution);
  Ptr<CudnnConvolutionBackward0> node;
  if (op.differentiable()) {
    node = op.node<CudnnConvolutionBackward0>({&input, &weight, &bias});
    node->keep(input, weight);
  }
  const GradMode below_autograd(false);
  const Tensor packed = input.contiguous();
  Tensor out = empty(output_sizes(input, weight, stride, padding), input.dtype());
  if (node) set_history(out, node);
  return out;
}

}  // namespace

Tensor cudnn_convolution(const In& input, const Tensor& weight, const Tensor& bias,
                         std::int64_t stride, std::int64_t padding) {
  constexpr CastPolicy kLow = CastPolicy::lower_precision;
  Tensor out;
  {
    const Autocasted shift(bias, kLow), filter(weight, kLow), x(*input, kLow);
    out = run_cudnn(*x, *filter, *shift, stride, padding);
  }
  input.release();
  return out;
}

}  // namespace memtape::ghost
