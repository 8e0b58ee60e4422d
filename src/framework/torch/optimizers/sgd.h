// SPDX-License-Identifier: Apache-2.0
// SGD (torch/optim/sgd.py): it has no state, or one momentum buffer, which begins as a copy of the
// first gradient.
#pragma once

#include "framework/torch/optimizer.h"

namespace memtape::torch {

class Sgd final : public Optimizer {
 public:
  Sgd(TensorList parameters, OptimizerImpl form, double momentum)
      : Optimizer(std::move(parameters)),
        form_(form),
        momentum_(momentum),
        momentum_buffer_(parameters_.size()) {}
  bool step_supports_amp_scaling() const override { return form_ == OptimizerImpl::fused; }

 private:
  /// Makes the buffers as clones of the gradients, wherever these lie.
  void keep_momentum(const Places& places);
  void step_over(const Places& places) override;
  std::vector<const TensorList*> states() const override { return {&momentum_buffer_}; }

  OptimizerImpl form_;
  double momentum_;
  TensorList momentum_buffer_;
};

}  // namespace memtape::torch
