// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/linear_gptq.h"

#include "ghost/autograd/function.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/pointwise.h"

namespace memtape::transformers {

using ghost::Tensor;

namespace {

/// dequantize_weight as inductor fuses it: one kernel from words to numbers, in the scales' dtype.
Tensor dequantize_weight(const nn::Projection& layer) {
  const ghost::Op op("dequantize_weight", {});
  return ghost::empty({layer.in_features, layer.out_features}, DType::float16);
}

/// QuantLinearFunction of triton_utils/dequant.py.
struct QuantLinearFunction final : ghost::Node {
  explicit QuantLinearFunction(const nn::Projection& projection)
      : Node("QuantLinearFunctionBackward"), layer(projection) {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    if (!wants(0)) return;
    const Tensor weights = dequantize_weight(layer);
    out[0] = in[0].matmul(weights.t());
  }
  void release() override {}
  const nn::Projection& layer;
};

Tensor quant_linear(const Tensor& x, const nn::Projection& layer) {
  const auto node = ghost::function_node<QuantLinearFunction>({&x}, layer);
  const ghost::GradMode no_grad(false);
  const Tensor weights = dequantize_weight(layer);
  Tensor out = x.matmul(weights);
  if (node) set_history(out, node);
  return out;
}

Tensor torch_linear(const Tensor& x, const nn::Projection& layer) {
  Tensor weights = dequantize_weight(layer);
  weights = weights.to(x.dtype());
  return x.matmul(weights);
}

}  // namespace

Tensor LinearGptq::forward(nn::Projection& layer, const Tensor& input) {
  const Tensor x = input.reshape({-1, input.size(-1)});
  Tensor bias;
  Tensor out = keeps_packed_ ? quant_linear(x, layer).to(DType::float16) : torch_linear(x, layer);
  out = out.reshape(input.sizes().leading().with(layer.out_features));
  if (!layer.bias.defined()) return out;
  bias = layer.bias.to(out.dtype());
  ghost::add_(out, bias);
  return out;
}

}  // namespace memtape::transformers
