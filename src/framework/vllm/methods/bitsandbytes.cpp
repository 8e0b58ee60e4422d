// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/methods/bitsandbytes.h"

#include "framework/vllm/ops.h"

namespace memtape::vllm {

void BitsAndBytesLinear::create_weights(Linear& layer) const {
  layer.weights.create("weight", {layer.out() * layer.in / 2, 1}, DType::uint8);
}

/// model_loader/bitsandbytes_loader.py, _unquantized_generator: this rank's part of a matrix comes
/// to the GPU as it is, is packed there, and is copied into the parameter.
void BitsAndBytesLinear::process_weights(Linear& layer) const {
  constexpr std::int64_t kBlock = 64, kValues = 16;
  std::vector<Tensor>& kept = layer.runtime().kept;
  for (const std::int64_t out : layer.outs) {
    Tensor loaded, packed;
    if (checkpoint_ == Checkpoint::plain) {
      loaded = kernel_output("to", {out, layer.in}, layer.dtype);
      packed = kernel_output("quantize_4bit", {out * layer.in / 2, 1}, DType::uint8);
    }
    kept.push_back(kernel_output("absmax", {ceil_div(out * layer.in, kBlock)}, DType::float32));
    kept.push_back(kernel_output("code", {kValues}, DType::float32));
  }
}

/// matmul_4bit of each matrix: the weights as they were for the time of its product.
Tensor BitsAndBytesLinear::apply(Linear& layer, const Tensor& x, const Tensor& bias) const {
  const Dims sizes{x.size(0), layer.out()};
  const Tensor output = kernel_output("empty", sizes, x.dtype());
  for (const std::int64_t out : layer.outs) {
    const Tensor weight = kernel_output("dequantize_4bit", {out, layer.in}, x.dtype());
    unquantized_gemm(x, weight, {});
  }
  return bias.defined() ? kernel_output("add", sizes, x.dtype()) : output;
}

}  // namespace memtape::vllm
