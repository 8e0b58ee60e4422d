// SPDX-License-Identifier: Apache-2.0
// Linear8bitLt of bitsandbytes (0.50, nn/modules.py, autograd/_functions.py): the weight is int8
// with a float32 scale for each row. Products use the input as int8, too, without its columns that
// contain outliers. The autograd function itself holds the input, so checkpointing does not release
// it.
#pragma once

#include "framework/torch/quantized_projection.h"
#include "nn/layers.h"

namespace memtape::transformers {

/// Int8Params._quantize: makes the scales of the rows and the bytes that replace the weight.
struct Int8Weight {
  ghost::Tensor bytes, scales;
};
Int8Weight quantize_8bit(const ghost::Tensor& weight);

/// Linear8bitLt.forward, which replaces the projection's own.
class Linear8Bit final : public torch::QuantizedProjection {
 public:
  Linear8Bit(ghost::Tensor scales, double threshold)
      : scales_(std::move(scales)), threshold_(threshold) {}
  ghost::Tensor forward(nn::Projection& layer, const ghost::Tensor& x) override;
  /// The dtype of adapters: none can be read off int8, so they keep torch's default.
  DType compute_dtype() const override { return DType::float32; }
  torch::LoraForward lora_forward() const override { return torch::LoraForward::converting; }
  /// int8_vectorwise_dequant: A * stats.view(-1, 1) * (1 / 127)
  ghost::Tensor dequantized_weight(const nn::Projection& layer) const override;

 private:
  ghost::Tensor scales_;
  double threshold_;  ///< that of LLM.int8(); 0: no columns are separated
};

}  // namespace memtape::transformers
