// SPDX-License-Identifier: Apache-2.0
// What peft asks of a quantized layer before it puts adapters beside it.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/layers.h"

namespace memtape::torch {

/// How lora.Linear's stand-ins for quantized layers add the adapter's product (peft 0.21,
/// tuners/lora): `cloning` is bnb.py's Linear4bit, `converting` its Linear8bitLt and awq.py, which
/// cast nothing under autocast; `plain` is gptq.py, which does as lora.Linear does.
enum class LoraForward : std::uint8_t { plain, converting, cloning };

class QuantizedProjection : public nn::ProjectionKernel {
 public:
  virtual LoraForward lora_forward() const = 0;
  /// dequantize_module_weight (utils/integrations.py): what is not bitsandbytes' passes as it is.
  virtual ghost::Tensor dequantized_weight(const nn::Projection& layer) const {
    return layer.weight;
  }
  /// Blocks whose maxima are quantized in turn (bitsandbytes' double quantization); 0: none.
  virtual std::int64_t nested_blocks() const { return 0; }
  /// deepcopy(quant_state): DoRA starts from a copy of a layer in 4 bits (tuners/lora/dora.py).
  virtual std::vector<ghost::Tensor> copied_state() const { return {}; }
};

}  // namespace memtape::torch
