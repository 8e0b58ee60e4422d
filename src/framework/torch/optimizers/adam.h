// SPDX-License-Identifier: Apache-2.0
// Adam and AdamW (torch/optim/adam.py; AdamW is a subclass since 2.7): two moments like the parameter and a step count,
// which lives on the GPU only when fused.
#pragma once

#include "framework/torch/optimizer.h"

namespace memtape::torch {

class Adam final : public Optimizer {
 public:
  Adam(std::vector<Tensor> parameters, OptimizerImpl impl);
  void step() override;
  Bytes state_bytes() const override;

 private:
  struct State {
    Tensor step, exp_avg, exp_avg_sq;
  };
  void init_state(State& state, const Tensor& parameter) const;

  OptimizerImpl impl_;
  std::vector<State> states_;
};

}  // namespace memtape::torch
