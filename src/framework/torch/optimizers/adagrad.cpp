// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/optimizers/adagrad.h"

#include "ghost/ops/creation.h"
#include "ghost/ops/foreach.h"
#include "ghost/ops/pointwise.h"
#include "ghost/session.h"

namespace memtape::torch {

Adagrad::Adagrad(TensorList parameters, OptimizerImpl form)
    : Optimizer(std::move(parameters)), form_(form) {
  for (std::size_t place = 0; place < parameters_.size(); ++place) init_zeros_like(sum_, place);
}

void Adagrad::move_state_to_gpu() {
  for (std::size_t place = 0; place < parameters_.size(); ++place) {
    const ghost::ScopeGuard guard(scope_of(place));
    step_.push_back(ghost::zeros({}, DType::float32, Category::optimizer_state));
  }
}

void Adagrad::step_over(const Places& places) {
  if (form_ == OptimizerImpl::foreach)
    multi_tensor(places);
  else
    single_tensor(places);
}

void Adagrad::single_tensor(const Places& places) {
  Tensor std;
  for (std::size_t place : places) std = ghost::sqrt(sum_[place]);
}

void Adagrad::multi_tensor(const Places& places) {
  TensorList std, numerator;
  for (const Places& group : grouped(places)) {
    std = ghost::foreach_like("_foreach_sqrt", ghost::at_places(sum_, group));
    numerator = ghost::foreach_like("_foreach_mul", grads_at(group));
  }
}

}  // namespace memtape::torch
