// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/optimizers/rmsprop.h"

#include "ghost/ops/foreach.h"
#include "ghost/ops/pointwise.h"

namespace memtape::torch {

void RmsProp::step_over(const Places& places) {
  for (std::size_t place : places) init_zeros_like(square_avg_, place);
  if (form_ == OptimizerImpl::foreach)
    multi_tensor(places);
  else
    single_tensor(places);
}

void RmsProp::single_tensor(const Places& places) {
  Tensor avg;
  for (std::size_t place : places) avg = ghost::sqrt(square_avg_[place]);
}

void RmsProp::multi_tensor(const Places& places) {
  TensorList avg;
  for (const Places& group : grouped(places))
    avg = ghost::foreach_like("_foreach_sqrt", ghost::at_places(square_avg_, group));
}

}  // namespace memtape::torch
