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

constexpr std::int64_t kBitsOfWord = 32;

/// What QuantLinear.forward of qlinear_cuda_old.py makes of its words: int32 shifted apart, masked
/// as bytes, moved by the zero points, scaled.
Tensor unpacked_by_shifts(const nn::Projection& layer, const GptqPacking& packing) {
  const std::int64_t in = layer.in_features, out = layer.out_features;
  const std::int64_t size = packing.group_size == -1 ? in : packing.group_size;
  const std::int64_t groups = in / size;
  const ghost::Op op("bitwise_right_shift", {});
  const DType bytes = packing.bits == 8 ? DType::int16 : DType::int8;
  const auto shifted = [&](const ghost::Dims& sizes) {
    const Tensor words = ghost::empty(sizes, DType::int32);
    return ghost::empty(sizes, bytes);
  };
  const std::int64_t per_word = kBitsOfWord / packing.bits;
  Tensor zeros = shifted({groups, out / per_word, per_word});
  zeros = ghost::empty(zeros.sizes(), bytes);
  const Tensor weight = shifted({in / per_word, per_word, out});
  const Tensor moved = ghost::empty({groups, size, out}, bytes);
  return ghost::empty({in, out}, DType::float16);
}

/// Fewer rows go to a kernel that autograd does not see, and whose result is float32.
constexpr std::int64_t kSwitchThreshold = 128;

Tensor cuda_old(const Tensor& x, const nn::Projection& layer, const GptqPacking& packing) {
  if (x.size(0) >= kSwitchThreshold) {
    const Tensor weight = unpacked_by_shifts(layer, packing);
    return x.to(DType::float16).matmul(weight).to(DType::float16);
  }
  const ghost::GradMode no_grad(false);
  const Tensor out = ghost::zeros({x.size(0), layer.out_features}, DType::float32);
  const Tensor half = x.to(DType::float16);
  const std::int64_t groups = packing.group_size == -1 ? 1 : layer.in_features / packing.group_size;
  const Tensor scales = ghost::empty({groups, layer.out_features}, DType::float32);
  return out.to(DType::float16);
}

Tensor product(GptqKernel kernel, const Tensor& x, const nn::Projection& layer,
               const GptqPacking& packing) {
  if (kernel == GptqKernel::auto_gptq_cuda) return cuda_old(x, layer, packing);
  if (kernel == GptqKernel::gptqmodel) return torch_linear(x, layer);
  return quant_linear(x, layer).to(DType::float16);
}

}  // namespace

Tensor LinearGptq::forward(nn::Projection& layer, const Tensor& input) {
  const Tensor x = input.reshape({-1, input.size(-1)});
  Tensor bias;
  Tensor out = product(kernel_, x, layer, packing_);
  out = out.reshape(input.sizes().leading().with(layer.out_features));
  if (!layer.bias.defined()) return out;
  if (kernel_ == GptqKernel::auto_gptq_cuda) return out.add(layer.bias);
  bias = layer.bias.to(out.dtype());
  ghost::add_(out, bias);
  return out;
}

}  // namespace memtape::transformers
