// SPDX-License-Identifier: Apache-2.0
// bitsandbytes' Linear4bit (0.50, nn/modules.py): a weight packed two to a byte in blocks of 64,
// with their maxima in float32, or in bytes again with maxima of their own (double quantization).
// Products see it dequantized, one weight at a time; backward keeps no input.
#pragma once

#include <utility>
#include <vector>

#include "framework/torch/quantized_projection.h"
#include "nn/layers.h"

namespace memtape::transformers {

/// What bitsandbytes keeps beside the packed weight (QuantState).
struct QuantState {
  ghost::Tensor code, absmax;                        ///< absmax: bytes when nested
  ghost::Tensor offset, nested_absmax, nested_code;  ///< of double quantization
  DType dtype = DType::bfloat16;                     ///< of the weight before
};

/// How quantize_4bit is to pack.
struct Packing4Bit {
  bool nested = false;           ///< compress_statistics
  DType storage = DType::uint8;  ///< of the packed numbers, as many of them as an element holds
};

/// quantize_4bit: the packed weight and its state. `dynamic_map` is made at the first nested one.
std::pair<ghost::Tensor, QuantState> quantize_4bit(const ghost::Tensor& weight, Packing4Bit packing,
                                                   ghost::Tensor& dynamic_map);

/// What releases before 0.50 did otherwise.
struct Products4Bit {
  /// Every product sees its weight dequantized, however few the rows: there was no kernel yet.
  bool always_dequantize = false;
  /// Before 0.43.2 they kept their input for backward, which has no use for it (#1270).
  bool keep_inputs = false;
};

/// The packed bytes of `state` in the place of the layer's weight, which is trained no more.
void take_packed_weight(nn::Projection& layer, const ghost::Tensor& packed);

/// Linear4bit.forward in place of the projection's own.
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
