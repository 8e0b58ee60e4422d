// SPDX-License-Identifier: Apache-2.0
// gptqmodel's layer over weights that GPTQ packed (7.6, nn_modules/qlinear/torch.py, tritonv2.py).
// All kernels that can be trained multiply as TorchLinear does: a kernel that torch.compile has
// made unpacks the whole weight, and autograd keeps that for the gradient of the input. auto_gptq's
// Triton layer (0.7, qlinear_tritonv2.py; plugins/accelerated-peft of fms-acceleration) keeps the
// packed weight, and unpacks it once more in backward. auto_gptq's CUDA layer (0.4,
// qlinear_cuda_old.py), which optimum takes where ExLlama is disabled, unpacks op by op, and
// autograd keeps the weight.
#pragma once

#include <cstdint>

#include "framework/torch/quantized_projection.h"

namespace memtape::transformers {

enum class GptqKernel : std::uint8_t { gptqmodel, auto_gptq_triton, auto_gptq_cuda };

/// How the numbers are packed: so many bits each, a scale for so many of them.
struct GptqPacking {
  std::int64_t bits = 4, group_size = 128;
};

/// TorchLinear._forward_eager or auto_gptq's forward, which replaces the projection's own.
class LinearGptq final : public torch::QuantizedProjection {
 public:
  LinearGptq(GptqKernel kernel, GptqPacking packing) : kernel_(kernel), packing_(packing) {}
  ghost::Tensor forward(nn::Projection& layer, const ghost::Tensor& x) override;
  /// The dtype of adapters: none can be read off packed words.
  DType compute_dtype() const override { return DType::float32; }
  /// peft 0.5 (tuners/lora.py:QuantLinear), of auto_gptq's days, added to a clone.
  torch::LoraForward lora_forward() const override {
    return kernel_ == GptqKernel::auto_gptq_cuda ? torch::LoraForward::cloning
                                                 : torch::LoraForward::plain;
  }

 private:
  GptqKernel kernel_;
  GptqPacking packing_;
};

}  // namespace memtape::transformers
