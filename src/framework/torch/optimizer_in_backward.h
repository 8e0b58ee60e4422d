// SPDX-License-Identifier: Apache-2.0
// An optimizer for each parameter, which steps in backward as soon as the parameter's gradient is
// there and lets go of it (Tensor.register_post_accumulate_grad_hook, as PyTorch's tutorial on
// fusing the optimizer step into backward, torchtune's optimizer_in_bwd and Trainer's layerwise
// GaLore and APOLLO use it): hardly more than one gradient is ever alive.
// --strategy '{"optimizer_in_backward": true}' of the plain loop.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "framework/torch/optimizer.h"
#include "ghost/autograd/node.h"

namespace memtape::torch {

class OptimizerInBackward final : public Optimizer {
 public:
  /// Makes the optimizer of the parameter at a place.
  using Make = std::function<std::unique_ptr<Optimizer>(std::size_t place)>;
  OptimizerInBackward(TensorList parameters, const Make& make);
  /// For who calls a parameter's hooks without autograd (foreach_reduce of fully_shard).
  void step_at(const Tensor& parameter);
  const std::vector<std::unique_ptr<Optimizer>>& of_each() const { return of_each_; }
  Bytes state_bytes() const override;

 protected:
  /// Behind backward there is no gradient left to step over.
  void step_over(const Places&) override {}
  std::vector<const TensorList*> states() const override { return {}; }

 private:
  std::vector<std::unique_ptr<Optimizer>> of_each_;
  std::vector<ghost::Ptr<ghost::Node>> accumulators_;
};

/// The recipe's optimizer for each of them.
std::unique_ptr<OptimizerInBackward> make_optimizer_in_backward(const TrainRecipe& recipe,
                                                                const TensorList& parameters);

/// Whether the recipe's strategy asks for it. What needs all gradients at once is an error.
Result<bool> steps_in_backward(const TrainRecipe& recipe);

}  // namespace memtape::torch
