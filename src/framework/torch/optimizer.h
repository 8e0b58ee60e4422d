// SPDX-License-Identifier: Apache-2.0
// Optimizer: torch.optim's optimizers on ghost tensors. State comes to life per parameter at the first step; what a step
// allocates for a moment depends on the implementation: fused kernels, foreach lists or a loop over parameters.
#pragma once

#include <memory>
#include <vector>

#include "ghost/tensor.h"
#include "workload/train_recipe.h"

namespace memtape::torch {

using ghost::Tensor;

class Optimizer {
 public:
  explicit Optimizer(std::vector<Tensor> parameters) : parameters_(std::move(parameters)) {}
  virtual ~Optimizer() = default;
  /// optimizer.step(): parameters without a gradient are passed over.
  virtual void step() = 0;
  /// Bytes of all state tensors on the GPU.
  virtual Bytes state_bytes() const = 0;
  /// optimizer.zero_grad(set_to_none=True)
  void zero_grad();

  const std::vector<Tensor>& parameters() const { return parameters_; }

 protected:
  std::vector<Tensor> parameters_;
};

/// The optimizer the recipe names, over the parameters that want gradients, in the order of model.parameters().
std::unique_ptr<Optimizer> make_optimizer(const TrainRecipe& recipe, std::vector<Tensor> parameters);

}  // namespace memtape::torch
