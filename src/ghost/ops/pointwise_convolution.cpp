// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/pointwise_convolution.h"

#include "ghost/autocast.h"
#include "ghost/autograd/node.h"

namespace memtape::ghost {
namespace {

/// Strides of [B, C, T] with the channels of one place beside each other.
Dims channels_last(const Dims& sizes) { return {sizes[1] * sizes[2], 1, sizes[1]}; }

/// cudnn_conv_suggest_memory_format: whether channels lie closest, packed or not.
bool suggests_channels_last(const Tensor& x) {
  return x.strides()[1] == 1 && x.strides()[2] >= x.size(1) &&
         x.strides()[0] >= x.size(2) * x.strides()[2] && x.size(1) > 1;
}

Tensor like_packed(const Tensor& x, bool last) {
  if (!last) return x.contiguous();
  if (x.strides() == channels_last(x.sizes())) return x;
  return empty_strided(x.sizes(), channels_last(x.sizes()), x.dtype());
}

Tensor result_like(const Dims& sizes, DType dtype, bool last) {
  return last ? empty_strided(sizes, channels_last(sizes), dtype) : empty(sizes, dtype);
}

struct PointwiseConvolutionBackward0 final : Node {
  PointwiseConvolutionBackward0() : Node("ConvolutionBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor x = input.unpack(), filter = weight.unpack();
    Op op("convolution_backward", {});
    const bool last = suggests_channels_last(x);
    const Tensor packed = like_packed(x, last), grad = like_packed(in[0], last);
    if (wants(0)) out[0] = result_like(x.sizes(), x.dtype(), last);
    if (wants(1)) out[1] = empty(filter.sizes(), filter.dtype());
  }
  void release() override {
    input.reset();
    weight.reset();
  }
  Saved input, weight;
};

Tensor run_pointwise(const Tensor& input, const Tensor& weight) {
  const In operand(input), filter(weight);
  Op op("convolution", {&operand, &filter});
  Ptr<PointwiseConvolutionBackward0> node;
  if (op.differentiable()) {
    node = op.node<PointwiseConvolutionBackward0>({&input, &weight});
    node->input.keep(input);
    node->weight.keep(weight);
  }
  const GradMode below_autograd(false);
  const bool last = suggests_channels_last(input);
  const Tensor packed = like_packed(input, last);
  Dims sizes = input.sizes();
  sizes[1] = weight.size(0);
  Tensor out = result_like(sizes, input.dtype(), last);
  if (node) set_history(out, node);
  return out;
}

}  // namespace

Tensor pointwise_conv1d(const In& input, const In& weight, std::int64_t groups) {
  if (weight->size(1) * groups != input->size(1))
    session().fail(
        {ErrorKind::internal, "channels do not divide among the groups", "pointwise_conv1d", ""});
  Tensor out;
  {
    constexpr CastPolicy kLow = CastPolicy::lower_precision;
    const Autocasted filter(*weight, kLow), x(*input, kLow);
    out = run_pointwise(*x, *filter);
  }
  input.release();
  weight.release();
  return out;
}

}  // namespace memtape::ghost
