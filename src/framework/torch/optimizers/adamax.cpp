// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/optimizers/adamax.h"

#include "ghost/ops/foreach.h"
#include "ghost/ops/unary.h"

namespace memtape::torch {

void Adamax::step_over(const Places& places) {
  for (std::size_t place : places) {
    init_zeros_like(exp_avg_, place);
    init_zeros_like(exp_inf_, place);
  }
  if (form_ == OptimizerImpl::foreach)
    multi_tensor(places);
  else
    single_tensor(places);
}

/// grad.abs() is an operand of torch.maximum only.
void Adamax::single_tensor(const Places& places) {
  for (std::size_t place : places) const Tensor magnitude = ghost::abs(parameters_[place].grad());
}

/// The list of magnitudes takes the name of the gradients, which each group gives anew.
void Adamax::multi_tensor(const Places& places) {
  for (const Places& group : grouped(places))
    const TensorList magnitudes = ghost::foreach_like("_foreach_abs", grads_at(group));
}

}  // namespace memtape::torch
