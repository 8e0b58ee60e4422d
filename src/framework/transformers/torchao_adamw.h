// SPDX-License-Identifier: Apache-2.0
// AdamW8bit and AdamW4bit of torchao 0.18 (optim/adam.py, subclass_8bit.py, subclass_4bit.py). For
// parameters of at least 4,096 elements in whole blocks, both moments are codes with a scale for
// every 256 of them and a table of values. torch.compile makes one program of the step of a
// parameter. Its buffers are the new scales, the moments in float32 and, if two codes will share a
// byte, an int64 for each code (recorded with inductor 2.11).
#pragma once

#include "framework/torch/optimizer.h"

namespace memtape::transformers {

class TorchaoAdamW final : public torch::Optimizer {
 public:
  TorchaoAdamW(torch::TensorList parameters, int bits);

 private:
  using Tensor = ghost::Tensor;
  void step_over(const torch::Places& places) override;
  bool one_pass_over_groups() const override { return true; }
  std::vector<const torch::TensorList*> states() const override {
    return {&exp_avg_, &exp_avg_sq_};
  }
  bool is_in_codes(std::size_t place) const;
  void new_buffer(torch::TensorList& state, std::size_t place);

  int bits_;
  torch::TensorList learning_rates_;
  /// Codes, scale and table for each place, or one tensor.
  torch::TensorList exp_avg_, exp_avg_sq_;
};

}  // namespace memtape::transformers
