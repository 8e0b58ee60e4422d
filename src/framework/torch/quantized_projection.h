// SPDX-License-Identifier: Apache-2.0
// What peft asks of a quantized layer before it adds adapters to it.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/layers.h"

namespace memtape::torch {

/// How peft's replacements of lora.Linear for quantized layers add the adapter's product (peft
/// 0.21, tuners/lora). `cloning` is Linear4bit of bnb.py. `converting` is Linear8bitLt of bnb.py
/// and awq.py, which cast nothing under autocast. `plain` is gptq.py, which does the same as
/// lora.Linear.
enum class LoraForward : std::uint8_t { plain, converting, cloning };

class QuantizedProjection : public nn::ProjectionKernel {
 public:
  virtual LoraForward lora_forward() const = 0;
  /// dequantize_module_weight (utils/integrations.py), which returns weights that are not
  /// bitsandbytes' as they are.
  virtual ghost::Tensor dequantized_weight(const nn::Projection& layer) const {
    return layer.weight;
  }
  /// The number of blocks whose maxima are quantized again (bitsandbytes' double quantization); 0
  /// if they are not.
  virtual std::int64_t nested_blocks() const { return 0; }
  /// deepcopy(quant_state): DoRA starts from a copy of a 4-bit layer (tuners/lora/dora.py).
  virtual std::vector<ghost::Tensor> copied_state() const { return {}; }
};

}  // namespace memtape::torch
