// SPDX-License-Identifier: Apache-2.0
// BitsAndBytesLinear: weights of checkpoints in bitsandbytes' 4 bits (vllm/model_executor/layers/
// quantization/bitsandbytes.py, up to 0.2x): two values a byte in one column, and beside the
// parameter a quantization state a matrix: a float32 for 64 values (a second level of quantization
// is undone while loading) and the 16 values of the type.
#pragma once

#include "framework/vllm/layers/linear.h"

namespace memtape::vllm {

class BitsAndBytesLinear final : public LinearMethod {
 public:
  void create_weights(Linear& layer) const override;
  void process_weights(Linear& layer) const override;
  Tensor apply(Linear& layer, const Tensor& x, const Tensor& bias) const override;
};

}  // namespace memtape::vllm
