// SPDX-License-Identifier: Apache-2.0
// torch's Adafactor (torch/optim/_adafactor.py): a row and a column of second moments for a matrix
// (or stack of matrices), one like the parameter for a vector. Norms are read by the CPU, so their
// tensors live for a moment only.
#pragma once

#include "framework/torch/optimizer.h"

namespace memtape::torch {

class Adafactor final : public Optimizer {
 public:
  Adafactor(TensorList parameters, OptimizerImpl form)
      : Optimizer(std::move(parameters)), form_(form) {}

 private:
  void step_over(const Places& places) override;
  std::vector<const TensorList*> states() const override {
    return {&row_var_, &col_var_, &variance_};
  }
  void init_state(std::size_t place);
  void single_tensor(const Places& places);
  void multi_tensor(const Places& places);
  TensorList factored_estimates(const Places& group);
  TensorList full_estimates(const Places& group);

  OptimizerImpl form_;
  TensorList row_var_, col_var_, variance_;
};

}  // namespace memtape::torch
