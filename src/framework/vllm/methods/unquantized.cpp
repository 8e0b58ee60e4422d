// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/methods/quantization.h"
#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

class UnquantizedLinear final : public LinearMethod {
 public:
  void create_weights(Linear& layer) const override {
    layer.weights.create("weight", {layer.out(), layer.in}, layer.dtype);
  }
  Tensor apply(Linear& layer, const Tensor& x, const Tensor& bias) const override {
    return unquantized_gemm(x, layer.weights.get("weight"), bias);
  }
};

}  // namespace

std::shared_ptr<const LinearMethod> unquantized_linear() {
  static const auto method = std::make_shared<const UnquantizedLinear>();
  return method;
}

std::shared_ptr<const LinearMethod> linear_method(const Place& place, bool quantized) {
  const Quantization* scheme = place.quantization();
  if (scheme && quantized)
    if (auto method = scheme->linear(place)) return method;
  return unquantized_linear();
}

}  // namespace memtape::vllm
