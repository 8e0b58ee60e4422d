// SPDX-License-Identifier: Apache-2.0
// NAdam (torch/optim/nadam.py): two moments like the parameter. The step count and the product of
// momenta live on the CPU.
#pragma once

#include "framework/torch/optimizer.h"

namespace memtape::torch {

class NAdam final : public Optimizer {
 public:
  NAdam(TensorList parameters, OptimizerImpl form)
      : Optimizer(std::move(parameters)), form_(form) {}

 private:
  void step_over(const Places& places) override;
  std::vector<const TensorList*> states() const override { return {&exp_avg_, &exp_avg_sq_}; }
  void single_tensor(const Places& places);
  void multi_tensor(const Places& places);

  OptimizerImpl form_;
  TensorList exp_avg_, exp_avg_sq_;
};

}  // namespace memtape::torch
