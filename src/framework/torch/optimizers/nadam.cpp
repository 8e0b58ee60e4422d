// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/optimizers/nadam.h"

#include "ghost/ops/foreach.h"
#include "ghost/ops/pointwise.h"

namespace memtape::torch {

void NAdam::step_over(const Places& places) {
  for (std::size_t place : places) {
    init_zeros_like(exp_avg_, place);
    init_zeros_like(exp_avg_sq_, place);
  }
  if (form_ == OptimizerImpl::foreach)
    multi_tensor(places);
  else
    single_tensor(places);
}

void NAdam::single_tensor(const Places& places) {
  Tensor denom;
  for (std::size_t place : places) denom = ghost::sqrt(exp_avg_sq_[place].div(0.5));
}

void NAdam::multi_tensor(const Places& places) {
  TensorList exp_avg_sq_sqrt;
  for (const Places& group : grouped(places))
    exp_avg_sq_sqrt = ghost::foreach_like("_foreach_sqrt", ghost::at_places(exp_avg_sq_, group));
}

}  // namespace memtape::torch
