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
    using Output = decltype(Module<Self>::operator()(x, rest...));
    const GradientCheckpointing kind = tree_.gradient_checkpointing;
    if (kind == GradientCheckpointing::off) return Module<Self>::operator()(x, rest...);
    const auto function = [this, rest...](const Tensor& input) {
      return Module<Self>::operator()(input, rest...);
    };
    if constexpr (std::is_same_v<Output, Tensor>)
      if (kind == GradientCheckpointing::reentrant)
        return ghost::checkpoint_reentrant(function, *x);
    return ghost::checkpoint(function, *x);
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
