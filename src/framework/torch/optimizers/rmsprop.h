// SPDX-License-Identifier: Apache-2.0
// RMSprop (torch/optim/rmsprop.py): one mean of squares like the parameter. It has neither momentum
// nor a centered variant.
#pragma once

#include "framework/torch/optimizer.h"

namespace memtape::torch {

class RmsProp final : public Optimizer {
 public:
  RmsProp(TensorList parameters, OptimizerImpl form)
      : Optimizer(std::move(parameters)), form_(form) {}

 private:
  void step_over(const Places& places) override;
  std::vector<const TensorList*> states() const override { return {&square_avg_}; }
  void single_tensor(const Places& places);
  void multi_tensor(const Places& places);

  OptimizerImpl form_;
  TensorList square_avg_;
};

}  // namespace memtape::torch
