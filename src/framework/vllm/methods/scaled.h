// SPDX-License-Identifier: Apache-2.0
// ScaledLinear: 8-bit weights with scales for each tensor, channel or block, and activations that
// are quantized on the way in (fp8.py, compressed_tensors_w8a8_fp8.py, _w8a8_int8.py,
// online/fp8.py). Devices without fp8 units hold the same weights for Marlin.
#pragma once

#include "framework/vllm/layers/linear.h"

namespace memtape::vllm {

enum class ScaleShape : std::uint8_t { tensor, channel, block };

struct ScaledScheme {
  DType weight = DType::float8_e4m3fn;
  ScaleShape scales = ScaleShape::channel;
  std::int64_t block_rows = 128, block_columns = 128;
  bool static_activation = false;
  bool online = false;
  /// The layer before may quantize its output for this one (expose_input_quant_key).
  bool takes_quantized_input = false;
};

class ScaledLinear final : public LinearMethod {
 public:
  explicit ScaledLinear(const ScaledScheme& scheme) : scheme_(scheme) {}
  void create_weights(Linear& layer) const override;
  void process_weights(Linear& layer) const override;
  Tensor apply(Linear& layer, const Tensor& x, const Tensor& bias) const override;
  bool processes_while_loading(const Linear& layer) const override;
  bool takes_quantized_input(const Linear& layer) const override {
    return scheme_.takes_quantized_input && scheme_.weight == DType::float8_e4m3fn &&
           !uses_marlin(layer);
  }

 private:
  bool uses_marlin(const Linear& layer) const;
  void quantize(Linear& layer) const;
  void pack_for_marlin(Linear& layer) const;
  const char* scale_name() const {
    return scheme_.scales == ScaleShape::block && scheme_.weight == DType::float8_e4m3fn
               ? "weight_scale_inv"
               : "weight_scale";
  }

  ScaledScheme scheme_;
};

}  // namespace memtape::vllm
