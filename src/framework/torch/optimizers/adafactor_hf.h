// SPDX-License-Identifier: Apache-2.0
// transformers' Adafactor (transformers/optimization.py) with relative_step=False and
// scale_parameter=False. It is a loop that computes in float32, whatever the dtype of the
// parameters is. Each state also keeps the root mean square of its parameter, a number on the GPU.
#pragma once

#include "framework/torch/optimizer.h"

namespace memtape::torch {

class AdafactorHf : public Optimizer {
 public:
  explicit AdafactorHf(TensorList parameters);

 protected:
  std::vector<const TensorList*> states() const override {
    return {&exp_avg_sq_row_, &exp_avg_sq_col_, &exp_avg_sq_, &rms_};
  }
  /// GaLore overrides this to project the gradients of some parameters, and to project their
  /// updates back.
  virtual Tensor project(Tensor grad, std::size_t /*place*/) { return grad; }
  virtual Tensor project_back(Tensor update, std::size_t /*place*/) { return update; }

 private:
  void step_over(const Places& places) override;
  bool one_pass_over_groups() const override { return true; }
  void init_state(const Tensor& grad, std::size_t place);
  Tensor factored_update(const Tensor& update, std::size_t place);

  TensorList exp_avg_sq_row_, exp_avg_sq_col_, exp_avg_sq_, rms_;
};

}  // namespace memtape::torch
