// SPDX-License-Identifier: Apache-2.0
// LayerOfSeveralInputs: a layer that is given more than one tensor that wants gradients: what it
// attends to beside its input, or a table that all layers share.
#pragma once

#include "nn/checkpointing.h"

namespace memtape::family {

/// Reentrant checkpointing would have to hand gradients to each of them, which is not modelled.
template <class Self>
class LayerOfSeveralInputs : public nn::GradientCheckpointingLayer<Self> {
 public:
  explicit LayerOfSeveralInputs(const nn::Scope& scope)
      : nn::GradientCheckpointingLayer<Self>(scope), tree_(scope.tree()) {}

  template <class... Rest>
  auto operator()(const nn::In& x, const Rest&... rest) {
    if (tree_.gradient_checkpointing != nn::GradientCheckpointing::reentrant)
      return nn::GradientCheckpointingLayer<Self>::operator()(x, rest...);
    ghost::session().fail({ErrorKind::unsupported,
                           "reentrant checkpointing of a layer with several inputs",
                           "--gradient-checkpointing", "full is the default of transformers 5"});
    return nn::Module<Self>::operator()(x, rest...);
  }

 private:
  const nn::ModuleTree& tree_;
};

}  // namespace memtape::family
