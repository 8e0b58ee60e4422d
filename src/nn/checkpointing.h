// SPDX-License-Identifier: Apache-2.0
// GradientCheckpointingLayer: the unit that model.gradient_checkpointing_enable() computes again in
// backward (transformers' modeling_layers.py). A family derives its layer from it in place of
// Module, and calls the layer with every tensor that the Python call passes, used or not: a
// checkpointed call keeps all of them, as Python's partial does.
#pragma once

#include <type_traits>

#include "ghost/autograd/checkpoint.h"
#include "nn/layer_frame.h"
#include "nn/module.h"

namespace memtape::nn {

template <class Self>
class GradientCheckpointingLayer : public Module<Self> {
 private:
  template <class... Rest>
  auto call(const In& x, const Rest&... rest) {
    const LayerFrame frame;
    return Module<Self>::operator()(x, rest...);
  }

 public:
  explicit GradientCheckpointingLayer(const Scope& scope)
      : Module<Self>(scope), tree_(scope.tree()) {
    scope.node().is_layer = true;
  }

  template <class... Rest>
  auto operator()(const In& x, const Rest&... rest) {
    const GradientCheckpointing kind = tree_.gradient_checkpointing;
    if (kind == GradientCheckpointing::off) return call(x, rest...);
    const auto function = [this, rest...](const Tensor& input) { return call(input, rest...); };
    if (kind == GradientCheckpointing::non_reentrant) return ghost::checkpoint(function, *x);
    if constexpr (std::is_same_v<decltype(call(x, rest...)), Tensor>)
      return ghost::checkpoint_reentrant(function, *x);
    ghost::session().fail({ErrorKind::unsupported,
                           "reentrant checkpointing of a layer with several outputs",
                           "--gradient-checkpointing", "full is the default of transformers 5"});
    return call(x, rest...);
  }

 private:
  const ModuleTree& tree_;
};

}  // namespace memtape::nn
