// SPDX-License-Identifier: Apache-2.0
// BitsAndBytesLinear: weights in bitsandbytes' 4 bits, as the checkpoint has them or packed while a
// plain checkpoint is loaded (vllm/model_executor/layers/quantization/bitsandbytes.py, up to 0.27).
// Each byte holds two values, all in one column. Each matrix has a quantization state beside the
// parameter: a float32 for every 64 values (loading undoes a second level of quantization) and the
// 16 values of the type.
#pragma once

#include "framework/vllm/layers/linear.h"

namespace memtape::vllm {

class BitsAndBytesLinear final : public LinearMethod {
 public:
  enum class Checkpoint : std::uint8_t { packed, plain };
  explicit BitsAndBytesLinear(Checkpoint checkpoint) : checkpoint_(checkpoint) {}

  void create_weights(Linear& layer) const override;
  void process_weights(Linear& layer) const override;
  bool processes_while_loading(const Linear&) const override {
    return checkpoint_ == Checkpoint::plain;
  }
  Tensor apply(Linear& layer, const Tensor& x, const Tensor& bias) const override;

 private:
  Checkpoint checkpoint_;
};

}  // namespace memtape::vllm
