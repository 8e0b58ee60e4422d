// SPDX-License-Identifier: Apache-2.0
// BitsAndBytesLinear: weights of checkpoints in bitsandbytes' 4 bits
// (vllm/model_executor/layers/quantization/bitsandbytes.py, up to 0.2x). Each byte holds two
// values, all in one column. Each matrix has a quantization state beside the parameter: a float32
// for every 64 values (loading undoes a second level of quantization) and the 16 values of the
// type.
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
