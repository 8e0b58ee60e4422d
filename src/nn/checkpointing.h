// SPDX-License-Identifier: Apache-2.0
// GradientCheckpointingLayer: the unit that model.gradient_checkpointing_enable() computes again in
// backward (transformers' modeling_layers.py). A family derives its layer from it in place of
// Module, and calls the layer with every tensor that the Python call passes, used or not: a
// checkpointed call keeps all of them, as Python's partial does.
#pragma once

#include "ghost/autograd/checkpoint.h"
#include "nn/layer_frame.h"
#include "nn/module.h"

namespace memtape::nn {

template <class Self>
class GradientCheckpointingLayer : public Module<Self> {
 public:
  explicit GradientCheckpointingLayer(const Scope& scope)
      : Module<Self>(scope), tree_(scope.tree()) {}

  template <class... Rest>
  auto operator()(const In& x, const Rest&... rest) {
    if (!tree_.gradient_checkpointing) return call(x, rest...);
    return ghost::checkpoint([this, rest...](const Tensor& input) { return call(input, rest...); },
                             *x);
  }

 private:
  template <class... Rest>
  auto call(const In& x, const Rest&... rest) {
    const LayerFrame frame;
    return Module<Self>::operator()(x, rest...);
  }

  const ModuleTree& tree_;
};

}  // namespace memtape::nn
