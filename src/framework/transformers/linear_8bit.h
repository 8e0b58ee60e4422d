// SPDX-License-Identifier: Apache-2.0
// bitsandbytes' Linear8bitLt (0.50, nn/modules.py, autograd/_functions.py): a weight of int8 with a
// float32 scale for each row. Products see the input as int8, too, less its columns with outliers;
// the input is held by the autograd function itself, where checkpointing does not reach it.
#pragma once

#include "framework/torch/quantized_projection.h"
#include "nn/layers.h"

namespace memtape::transformers {

/// Int8Params._quantize: the rows' scales, and the weight's bytes in the place of the weight.
struct Int8Weight {
  ghost::Tensor bytes, scales;
};
Int8Weight quantize_8bit(const ghost::Tensor& weight);

/// Linear8bitLt.forward in place of the projection's own.
class Linear8Bit final : public torch::QuantizedProjection {
 public:
  Linear8Bit(ghost::Tensor scales, double threshold)
      : scales_(std::move(scales)), threshold_(threshold) {}
  ghost::Tensor forward(nn::Projection& layer, const ghost::Tensor& x) override;
  /// Of adapters: no dtype can be read off int8, so they keep torch's default.
  DType compute_dtype() const override { return DType::float32; }
  torch::LoraForward lora_forward() const override { return torch::LoraForward::converting; }
  /// int8_vectorwise_dequant: A * stats.view(-1, 1) * (1 / 127)
  ghost::Tensor dequantized_weight(const nn::Projection& layer) const override;

 private:
  ghost::Tensor scales_;
  double threshold_;  ///< of LLM.int8(); 0: no columns are set apart
};

}  // namespace memtape::transformers
