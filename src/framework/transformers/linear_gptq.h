// SPDX-License-Identifier: Apache-2.0
// gptqmodel's layer over weights that GPTQ packed (7.6, nn_modules/qlinear/torch.py, tritonv2.py).
// All kernels that can be trained multiply as TorchLinear does: a kernel that torch.compile has
// made unpacks the whole weight, and autograd keeps that for the gradient of the input. auto_gptq's
// Triton layer (0.7, qlinear_tritonv2.py; plugins/accelerated-peft of fms-acceleration) keeps the
// packed weight, and unpacks it once more in backward.
#pragma once

#include "framework/torch/quantized_projection.h"

namespace memtape::transformers {

/// TorchLinear._forward_eager or auto_gptq's forward, which replaces the projection's own.
class LinearGptq final : public torch::QuantizedProjection {
 public:
  explicit LinearGptq(bool keeps_packed) : keeps_packed_(keeps_packed) {}
  ghost::Tensor forward(nn::Projection& layer, const ghost::Tensor& x) override;
  /// The dtype of adapters: none can be read off packed words.
  DType compute_dtype() const override { return DType::float32; }
  torch::LoraForward lora_forward() const override { return torch::LoraForward::plain; }

 private:
  bool keeps_packed_;
};

}  // namespace memtape::transformers
