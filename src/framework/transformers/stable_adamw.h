// SPDX-License-Identifier: Apache-2.0
// StableAdamW of torch-optimi 0.3 in its Triton form (stableadamw.py): two moments, a compensation
// for the rounding of weights if these are 16-bit, and two numbers for each parameter.
#pragma once

#include "framework/torch/optimizer.h"

namespace memtape::transformers {

class StableAdamW final : public torch::Optimizer {
 public:
  explicit StableAdamW(torch::TensorList parameters);

 private:
  void step_over(const torch::Places& places) override;
  std::vector<const torch::TensorList*> states() const override {
    return {&exp_avg_, &exp_avg_sq_, &eps_sq_, &kahan_comp_, &mean_square_};
  }
  void init_state(std::size_t place);

  torch::TensorList exp_avg_, exp_avg_sq_, eps_sq_, kahan_comp_, mean_square_;
};

}  // namespace memtape::transformers
