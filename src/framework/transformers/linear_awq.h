// SPDX-License-Identifier: Apache-2.0
// gptqmodel's layers over weights that AWQ packed (7.6, nn_modules/qlinear/gemm_awq.py and
// gemm_awq_triton.py). Products are in float16 (the CUDA kernel also has bfloat16). Many rows are
// multiplied by the whole unpacked weight; few rows are multiplied by a kernel that unpacks as it
// goes. Backward unpacks the weight again, and nothing of the input is kept.
#pragma once

#include <cstdint>

#include "framework/torch/quantized_projection.h"

namespace memtape::transformers {

enum class AwqKernel : std::uint8_t { triton, cuda };

/// AwqGEMMTritonLinear.forward or AwqGEMMLinear.forward, which replaces the projection's own.
class LinearAwq final : public torch::QuantizedProjection {
 public:
  explicit LinearAwq(AwqKernel kernel) : kernel_(kernel) {}
  ghost::Tensor forward(nn::Projection& layer, const ghost::Tensor& input) override;
  /// The dtype of adapters: none can be read off packed words.
  DType compute_dtype() const override { return DType::float32; }
  torch::LoraForward lora_forward() const override { return torch::LoraForward::converting; }

 private:
  DType dtype_for(DType input) const;
  ghost::Tensor product(const nn::Projection& layer, const ghost::Tensor& x) const;

  AwqKernel kernel_;
};

}  // namespace memtape::transformers
