// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/linear_8bit.h"

#include "framework/transformers/quantized_bias.h"
#include "ghost/autograd/function.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/matmul.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/unary.h"

namespace memtape::transformers {
namespace {

using ghost::Gradients;
using ghost::Tensor;

Tensor row_stats(const Tensor& rows) {
  return ghost::empty({rows.numel() / rows.size(-1)}, DType::float32);
}

/// ctx.tensors = (CAt, subA, A): not saved_tensors, so A lives as long as the graph.
struct MatMul8bitLt final : ghost::Node {
  MatMul8bitLt(const nn::Projection& projection, const Tensor& scales)
      : Node("MatMul8bitLt"), layer(projection), row_scales(scales) {}
  void apply(Gradients& in, Gradients& out) override {
    if (wants(1)) out[1] = bias_gradient(in[0]);
    if (!wants(0)) return;
    const Tensor grad = in[0].reshape({-1, in[0].size(-1)}).contiguous();
    const Tensor weight = ghost::empty(layer.weight.sizes(), input.dtype());
    {
      const Tensor scale = row_scales.unsqueeze(1).mul(2.0);
    }
    const Tensor cast = grad.to(input.dtype());
    out[0] = cast.matmul(weight).view(grad_shape);
  }
  void release() override {}
  const nn::Projection& layer;
  const Tensor& row_scales;
  Tensor input;
  ghost::Dims grad_shape;
};

struct QuantizedRows {
  Tensor bytes, stats;
};

/// int8_vectorwise_quant of the input; columns that hold an outlier are found, and taken to be
/// none.
QuantizedRows vectorwise_quant(const Tensor& a, double threshold) {
  QuantizedRows out;
  out.stats = row_stats(a);
  out.bytes = ghost::empty(a.sizes(), DType::int8);
  if (threshold <= 0) return out;
  const Tensor outliers = ghost::ge(ghost::abs(a), threshold);
  {
    const Tensor some = ghost::any(outliers);
  }
  {
    const Tensor columns = ghost::any(outliers, 0);
    const Tensor places = ghost::nonzero(columns, 0);
  }
  const Tensor zero = ghost::full({}, DType::int8);  // out_row[:, outlier_cols] = 0
  return out;
}

/// int8_linear_matmul, then int8_mm_dequant into float16 and on to the input's dtype.
Tensor int8_scaled_mm(const nn::Projection& layer, const Tensor& a) {
  const ghost::Dims sizes{a.size(0), layer.out_features};
  const Tensor sums = ghost::empty(sizes, DType::int32);
  const Tensor half = ghost::empty(sizes, DType::float16);
  return half.to(a.dtype());
}

}  // namespace

Int8Weight quantize_8bit(const Tensor& weight) {
  const ghost::GradMode no_grad(false);
  const Tensor half = weight.to(DType::float16);
  Int8Weight out;
  out.scales = ghost::empty({half.size(0)}, DType::float32, Category::parameter);
  out.bytes = ghost::empty(half.sizes(), DType::int8, Category::parameter);
  return out;
}

Tensor Linear8Bit::dequantized_weight(const nn::Projection& layer) const {
  const ghost::GradMode no_grad(false);
  const Tensor scaled = ghost::empty(layer.weight.sizes(), DType::float32);
  return scaled.mul(2.0);
}

Tensor Linear8Bit::forward(nn::Projection& layer, const Tensor& x) {
  cast_bias(layer.bias, x.dtype());
  const auto node = ghost::function_node<MatMul8bitLt>({&x, &layer.bias}, layer, scales_);
  const ghost::Op op("int8_scaled_mm", {});
  Tensor out;
  {
    const ghost::GradMode no_grad(false);
    const Tensor a = x.reshape({-1, x.size(-1)});
    QuantizedRows quantized;
    {
      const Tensor half = a.to(DType::float16);
      quantized = vectorwise_quant(half, threshold_);
    }
    out = int8_scaled_mm(layer, a).view(x.sizes().leading().with(layer.out_features));
    if (node) {
      if (node->wants(0)) {  // else ctx.tensors = [None, None, None]
        ghost::note_kept(a);
        node->input = a;
      }
      node->grad_shape = x.sizes();
    }
  }
  if (node) set_history(out, node);
  return out;
}

}  // namespace memtape::transformers
