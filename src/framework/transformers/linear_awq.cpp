// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/linear_awq.h"

#include "ghost/autograd/function.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/matmul.h"

namespace memtape::transformers {
namespace {

using ghost::Gradients;
using ghost::Tensor;

constexpr std::int64_t kMostFusedRowsTriton = 128;  ///< scheduler.py: legacy_plan
constexpr std::int64_t kMostFusedRowsCuda = 1024;   ///< AwqGemmFn.forward
constexpr std::int64_t kSplits = 8;                 ///< of the CUDA kernel's sums

Tensor dequantize_weights(const nn::Projection& layer, DType dtype) {
  return ghost::empty({layer.in_features, layer.out_features}, dtype);
}

/// awq_gemm_triton adds to float32 zeros; gemm_cuda_gen.cu leaves its partial sums apart.
Tensor fused_product(const nn::Projection& layer, const Tensor& x, AwqKernel kernel) {
  const std::int64_t rows = x.size(0), columns = layer.out_features;
  const ghost::Dims sums{rows, columns}, parts{kSplits, rows, columns};
  const Tensor accumulated =
      ghost::empty(kernel == AwqKernel::triton ? sums : parts, DType::float32);
  return ghost::empty(sums, x.dtype());
}

struct AwqGemmFn final : ghost::Node {
  AwqGemmFn(const nn::Projection& projection, DType compute)
      : Node("AwqGemmFnBackward"), layer(projection), dtype(compute) {}
  void apply(Gradients& in, Gradients& out) override {
    if (!wants(0)) return;
    const Tensor weights = dequantize_weights(layer, dtype).to(in[0].dtype());
    const Tensor grad = in[0].reshape({-1, in[0].size(-1)});
    out[0] = grad.matmul(weights.t()).reshape(input_shape);
  }
  void release() override {}
  const nn::Projection& layer;
  DType dtype;
  ghost::Dims input_shape;
};

}  // namespace

DType LinearAwq::dtype_for(DType input) const {
  const bool follows = kernel_ == AwqKernel::cuda && input == DType::bfloat16;
  return follows ? DType::bfloat16 : DType::float16;
}

/// AwqGemmTritonFn.forward, AwqGemmFn.forward
Tensor LinearAwq::product(const nn::Projection& layer, const Tensor& x) const {
  const ghost::GradMode no_grad(false);
  const Tensor rows = x.reshape({-1, x.size(-1)});
  const std::int64_t most_fused =
      kernel_ == AwqKernel::triton ? kMostFusedRowsTriton : kMostFusedRowsCuda;
  Tensor out;
  if (rows.size(0) > most_fused)
    out = rows.matmul(dequantize_weights(layer, x.dtype()));
  else
    out = fused_product(layer, rows, kernel_);
  if (layer.bias.defined()) out = out.add(layer.bias);
  return out.reshape(x.sizes().leading().with(layer.out_features));
}

Tensor LinearAwq::forward(nn::Projection& layer, const Tensor& input) {
  const Tensor x = input.to(dtype_for(input.dtype())).contiguous();
  if (layer.bias.defined() && kernel_ == AwqKernel::cuda)
    layer.bias.impl().dtype = x.dtype();  // _ensure_runtime_dtype, for good; no byte more or less
  const auto node = ghost::function_node<AwqGemmFn>({&x}, layer, x.dtype());
  const ghost::Op op("awq_gemm", {});
  Tensor out = product(layer, x);
  if (node) {
    node->input_shape = x.sizes();
    set_history(out, node);
  }
  return out.to(input.dtype());
}

}  // namespace memtape::transformers
