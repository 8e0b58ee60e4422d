// SPDX-License-Identifier: Apache-2.0
// The layerwise forms of GaLore and APOLLO (trainer_optimizer.py, _setup_low_rank_optimizer): each
// parameter has an optimizer of its own, which steps as soon as the gradient is accumulated and
// drops it; the optimizer that Trainer calls does nothing (LayerWiseDummyOptimizer).
#pragma once

#include <functional>
#include <memory>

#include "framework/torch/optimizer.h"
#include "ghost/autograd/node.h"

namespace memtape::transformers {

class Layerwise final : public torch::Optimizer {
 public:
  /// Makes the optimizer of the parameter at a place.
  using Make = std::function<std::unique_ptr<torch::Optimizer>(std::size_t place)>;
  Layerwise(torch::TensorList parameters, const Make& make);

  Bytes state_bytes() const override;

 private:
  void step_over(const torch::Places&) override {}
  std::vector<const torch::TensorList*> states() const override { return {}; }

  std::vector<std::unique_ptr<torch::Optimizer>> optimizers_;
  std::vector<ghost::Ptr<ghost::Node>> hooks_;
};

}  // namespace memtape::transformers
