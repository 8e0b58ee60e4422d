// SPDX-License-Identifier: Apache-2.0
// Adamax (torch/optim/adamax.py): a moment and an infinity norm, both like the parameter.
#pragma once

#include "framework/torch/optimizer.h"

namespace memtape::torch {

class Adamax final : public Optimizer {
 public:
  Adamax(TensorList parameters, OptimizerImpl form)
      : Optimizer(std::move(parameters)), form_(form) {}

 private:
  void step_over(const Places& places) override;
  std::vector<const TensorList*> states() const override { return {&exp_avg_, &exp_inf_}; }
  void single_tensor(const Places& places);
  void multi_tensor(const Places& places);

  OptimizerImpl form_;
  TensorList exp_avg_, exp_inf_;
};

}  // namespace memtape::torch
