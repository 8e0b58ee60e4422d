// SPDX-License-Identifier: Apache-2.0
// torchao 0.18's AdamW8bit and AdamW4bit (optim/adam.py, subclass_8bit.py, subclass_4bit.py): both
// moments as codes with a scale for each 256 of them and a table of values, of parameters with
// 4,096 elements or more that are whole blocks. torch.compile makes one program of a parameter's
// step: the new scales and the moments in float32 are the buffers it has, and codes of 8 bytes
// where two will share one (recorded with inductor 2.11).
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
  torch::TensorList exp_avg_, exp_avg_sq_;  ///< codes, scale and table of each place; or one tensor
};

}  // namespace memtape::transformers
