// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/optimizer.h"

#include "framework/torch/optimizers/adam.h"

namespace memtape::torch {

void Optimizer::zero_grad() {
  for (const Tensor& parameter : parameters_) parameter.impl().grad.reset();
}

std::unique_ptr<Optimizer> make_optimizer(const TrainRecipe& recipe, std::vector<Tensor> parameters) {
  return std::make_unique<Adam>(std::move(parameters), recipe.optimizer_impl);
}

}  // namespace memtape::torch
