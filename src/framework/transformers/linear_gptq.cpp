// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/linear_gptq.h"

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

}  // namespace

Tensor LinearGptq::forward(nn::Projection& layer, const Tensor& input) {
  const Tensor x = input.reshape({-1, input.size(-1)});
  Tensor bias;
  Tensor weights = dequantize_weight(layer);
  weights = weights.to(x.dtype());
  const Tensor out = x.matmul(weights).reshape(input.sizes().leading().with(layer.out_features));
  if (!layer.bias.defined()) return out;
  bias = layer.bias.to(out.dtype());
  ghost::add_(out, bias);
  return out;
}

}  // namespace memtape::transformers
