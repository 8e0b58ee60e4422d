// SPDX-License-Identifier: Apache-2.0
// A separate optimizer for each parameter, which steps during backward as soon as the parameter's
// gradient exists, and then drops the gradient, so that hardly more than one gradient is alive at a
// time. It hangs on Tensor.register_post_accumulate_grad_hook, as in PyTorch's tutorial on fusing
// the optimizer step into backward, in torchtune's optimizer_in_bwd, and in Trainer's layerwise
// GaLore and APOLLO. The plain loop does it with --strategy '{"optimizer_in_backward": true}'.
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
  /// Steps for a parameter whose hooks are called without autograd (foreach_reduce of fully_shard).
  void step_at(const Tensor& parameter);
  const std::vector<std::unique_ptr<Optimizer>>& of_each() const { return of_each_; }
  Bytes state_bytes() const override;

 protected:
  /// After backward there is no gradient left for a step.
  void step_over(const Places&) override {}
  std::vector<const TensorList*> states() const override { return {}; }

 private:
  std::vector<std::unique_ptr<Optimizer>> of_each_;
  std::vector<ghost::Ptr<ghost::Node>> accumulators_;
};

/// Makes the recipe's optimizer for each of the parameters.
std::unique_ptr<OptimizerInBackward> make_optimizer_in_backward(const TrainRecipe& recipe,
                                                                const TensorList& parameters);

/// Reads the --strategy of the plain loop into the recipe's own part.
Result<void> read_loop_strategy(std::string_view json, TrainRecipe& recipe);

/// Whether that asks for it. It is an error if something needs all gradients at
/// once.
Result<bool> steps_in_backward(const TrainRecipe& recipe);

}  // namespace memtape::torch
