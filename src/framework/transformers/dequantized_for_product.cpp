// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/dequantized_for_product.h"

#include "framework/torch/quantized_projection.h"
#include "ghost/ops/creation.h"

namespace memtape::transformers {

ghost::Tensor dequantized_for_product(const nn::Projection& layer, const char* op) {
  if (!layer.kernel) return layer.weight;
  const auto& kernel = static_cast<const torch::QuantizedProjection&>(*layer.kernel);
  const std::int64_t blocks = kernel.nested_blocks();
  if (blocks == 0) return kernel.dequantized_weight(layer);
  const ghost::Op named(op, {});
  ghost::Tensor out = ghost::empty({layer.out_features, layer.in_features}, kernel.compute_dtype());
  const ghost::Tensor out_absmax = ghost::empty({blocks}, DType::float32);
  return out;
}

}  // namespace memtape::transformers
