// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/optimizers/adam.h"

#include "ghost/ops/creation.h"

namespace memtape::torch {

Adam::Adam(std::vector<Tensor> parameters, OptimizerImpl impl)
    : Optimizer(std::move(parameters)), impl_(impl), states_(parameters_.size()) {}

void Adam::init_state(State& state, const Tensor& parameter) const {
  if (impl_ == OptimizerImpl::fused) state.step = ghost::zeros({}, DType::float32, Category::optimizer_state);
  state.exp_avg = ghost::empty_like(parameter, parameter.dtype(), Category::optimizer_state);
  state.exp_avg_sq = ghost::empty_like(parameter, parameter.dtype(), Category::optimizer_state);
}

Bytes Adam::state_bytes() const {
  Bytes bytes = 0;
  for (const State& state : states_)
    for (const Tensor* t : {&state.step, &state.exp_avg, &state.exp_avg_sq})
      if (t->defined()) bytes += t->nbytes();
  return bytes;
}

void Adam::step() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].impl().grad) continue;
    if (!states_[i].exp_avg.defined()) init_state(states_[i], parameters_[i]);
  }
}

}  // namespace memtape::torch
