// SPDX-License-Identifier: Apache-2.0
// Adam and AdamW (torch/optim/adam.py; AdamW is a subclass): two moments like the parameter, and a
// step count, which lives on the GPU only in the fused form.
#pragma once

#include "framework/torch/optimizer.h"

namespace memtape::torch {

class Adam final : public Optimizer {
 public:
  Adam(TensorList parameters, OptimizerImpl form) : Optimizer(std::move(parameters)), form_(form) {}
  bool step_supports_amp_scaling() const override { return form_ == OptimizerImpl::fused; }

 private:
  void step_over(const Places& places) override;
  std::vector<const TensorList*> states() const override {
    return {&step_, &exp_avg_, &exp_avg_sq_};
  }
  void init_state(std::size_t place);
  /// exp_avg.lerp_(grad), exp_avg_sq.addcmul_(grad, grad)
  void read_gradients(const Places& places) const;
  void single_tensor(const Places& places);
  void multi_tensor(const Places& places);

  OptimizerImpl form_;
  TensorList step_, exp_avg_, exp_avg_sq_;
};

}  // namespace memtape::torch
