// SPDX-License-Identifier: Apache-2.0
// Linear4bit of bitsandbytes (0.50, nn/modules.py): the weight is packed, two numbers to a byte, in
// blocks of 64. The maxima of the blocks are in float32, or in bytes with their own maxima (double
// quantization). Products dequantize one weight at a time, and backward keeps no input.
#pragma once

#include <utility>
#include <vector>

#include "framework/torch/quantized_projection.h"
#include "nn/layers.h"

namespace memtape::transformers {

/// What bitsandbytes keeps beside the packed weight (QuantState).
struct QuantState {
  ghost::Tensor code, absmax;                        ///< absmax holds bytes if it is nested
  ghost::Tensor offset, nested_absmax, nested_code;  ///< set with double quantization
  DType dtype = DType::bfloat16;                     ///< the dtype of the original weight
};

/// How quantize_4bit is to pack.
struct Packing4Bit {
  bool nested = false;  ///< compress_statistics
  /// The dtype of the packed numbers; an element holds as many as it has room for.
  DType storage = DType::uint8;
};

/// quantize_4bit: returns the packed weight and its state. The first nested one makes
/// `dynamic_map`.
std::pair<ghost::Tensor, QuantState> quantize_4bit(const ghost::Tensor& weight, Packing4Bit packing,
                                                   ghost::Tensor& dynamic_map);

/// What releases before 0.50 do otherwise.
struct Products4Bit {
  /// Every product dequantizes its weight, however few rows it has, because there is no kernel yet.
  bool always_dequantize = false;
  /// Before 0.43.2, products keep their input for backward, which does not use it (#1270).
  bool keep_inputs = false;
};

/// The weight again, in the dtype that it had.
ghost::Tensor dequantize_4bit(const QuantState& state, const ghost::Dims& sizes);

/// Replaces a weight by the packed bytes. The weight is not trained any more.
void take_packed_weight(const ghost::Tensor& weight, const ghost::Tensor& packed);

/// Linear4bit.forward, which replaces the projection's own.
class Linear4Bit final : public torch::QuantizedProjection {
 public:
  Linear4Bit(QuantState state, DType compute_dtype, Products4Bit products = {})
      : state_(std::move(state)), compute_dtype_(compute_dtype), products_(products) {}
  ghost::Tensor forward(nn::Projection& layer, const ghost::Tensor& x) override;
  DType compute_dtype() const override { return compute_dtype_; }
  torch::LoraForward lora_forward() const override { return torch::LoraForward::cloning; }
  ghost::Tensor dequantized_weight(const nn::Projection& layer) const override;
  std::int64_t nested_blocks() const override {
    return state_.offset.defined() ? state_.absmax.numel() : 0;
  }
  std::vector<ghost::Tensor> copied_state() const override;

 private:
  QuantState state_;
  DType compute_dtype_;
  Products4Bit products_;
};

}  // namespace memtape::transformers
