// SPDX-License-Identifier: Apache-2.0
// torch's Adafactor (torch/optim/_adafactor.py): a matrix, or a stack of matrices, has a row and a
// column of second moments, and a vector has as many second moments as elements. The CPU reads the
// norms, so their tensors live only for a moment.
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
