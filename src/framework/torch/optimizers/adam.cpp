// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/optimizers/adam.h"

#include "ghost/ops/creation.h"
#include "ghost/ops/foreach.h"
#include "ghost/ops/pointwise.h"
#include "ghost/session.h"
#include "release/trainer_changes.h"

namespace memtape::torch {

void Adam::init_state(std::size_t place) {
  if (form_ == OptimizerImpl::fused) {
    step_.resize(parameters_.size());
    if (!step_[place].defined())
      step_[place] = ghost::zeros({}, DType::float32, Category::optimizer_state);
  }
  init_zeros_like(exp_avg_, place);
  init_zeros_like(exp_avg_sq_, place);
}

void Adam::step_over(const Places& places) {
  for (std::size_t place : places) init_state(place);
  if (form_ == OptimizerImpl::for_loop) single_tensor(places);
  if (form_ == OptimizerImpl::foreach) multi_tensor(places);
  if (form_ == OptimizerImpl::fused) const TensorList gradients = gradient_operands(places);
}

void Adam::read_gradients(const Places& places) const {
  {
    const TensorList lerped = gradient_operands(places);
  }
  const TensorList gradients = gradient_operands(places), again = gradient_operands(places);
}

void Adam::single_tensor(const Places& places) {
  Tensor denom;
  for (std::size_t place : places) {
    read_gradients({place});
    denom = ghost::sqrt(exp_avg_sq_[place]).div(0.5);
  }
}

void Adam::multi_tensor(const Places& places) {
  TensorList exp_avg_sq_sqrt, denom;
  for (const Places& group : grouped(places)) {
    read_gradients(group);
    exp_avg_sq_sqrt = ghost::foreach_like("_foreach_sqrt", ghost::at_places(exp_avg_sq_, group));
    if (!ghost::has(changes::kForeachAdamAddsInPlace))
      denom = ghost::foreach_like("_foreach_add", exp_avg_sq_sqrt);
  }
}

}  // namespace memtape::torch
