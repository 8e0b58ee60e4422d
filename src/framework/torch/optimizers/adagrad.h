// SPDX-License-Identifier: Apache-2.0
// Adagrad (torch/optim/adagrad.py): one sum of squares like the parameter, and a step counter on
// the host. The constructor makes both.
#pragma once

#include "framework/torch/optimizer.h"

namespace memtape::torch {

class Adagrad final : public Optimizer {
 public:
  Adagrad(TensorList parameters, OptimizerImpl form);
  void move_state_to_gpu() override;

 private:
  void step_over(const Places& places) override;
  std::vector<const TensorList*> states() const override { return {&sum_, &step_}; }
  void single_tensor(const Places& places);
  void multi_tensor(const Places& places);

  OptimizerImpl form_;
  TensorList sum_;
  TensorList step_;  ///< set if the counters are on the GPU
};

}  // namespace memtape::torch
