// SPDX-License-Identifier: Apache-2.0
// LayerOfSeveralInputs: a layer that is given a further tensor that wants gradients: what it
// attends to beside its input, or a table that all layers share.
#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <vector>

#include "ghost/autograd/checkpoint_of_several.h"
#include "nn/checkpointing.h"

namespace memtape::family {

/// A reentrant checkpoint saves what the layer is given by position and hands a gradient to the
/// further tensor, too: Self::kFurtherInput says which of the rest that is. Of a layer without that
/// it is not modelled.
template <class Self>
class LayerOfSeveralInputs : public nn::GradientCheckpointingLayer<Self> {
 public:
  explicit LayerOfSeveralInputs(const nn::Scope& scope)
      : nn::GradientCheckpointingLayer<Self>(scope), tree_(scope.tree()) {}

  template <class... Rest>
  auto operator()(const nn::In& x, const Rest&... rest) {
    if (tree_.gradient_checkpointing != nn::GradientCheckpointing::reentrant)
      return nn::GradientCheckpointingLayer<Self>::operator()(x, rest...);
    if constexpr (requires { Self::kFurtherInput; }) {
      if (!std::get<Self::kFurtherInput>(std::tie(rest...)).defined())  // None
        return nn::GradientCheckpointingLayer<Self>::operator()(x, rest...);
      return reentrant(*x, std::make_shared<std::tuple<Rest...>>(rest...));
    } else {
      ghost::session().fail({ErrorKind::unsupported,
                             "reentrant checkpointing of a layer with several inputs",
                             "--gradient-checkpointing", "full is the default of transformers 5"});
      return nn::Module<Self>::operator()(x, rest...);
    }
  }

 private:
  template <class... Rest>
  Tensor run(const Tensor& input, const Rest&... rest) {
    const nn::LayerFrame frame;
    return nn::Module<Self>::operator()(input, rest...);
  }

  template <class Arguments>
  Tensor reentrant(const Tensor& x, const std::shared_ptr<Arguments>& arguments) {
    constexpr std::size_t kFurther = Self::kFurtherInput;
    const Tensor further = std::get<kFurther>(*arguments);
    std::get<kFurther>(*arguments).reset();
    const auto function = [self = this, arguments](const std::vector<Tensor>& inputs) {
      Arguments given = *arguments;
      std::get<kFurther>(given) = inputs[1];
      return std::vector<Tensor>{
          std::apply([&](const auto&... each) { return self->run(inputs[0], each...); }, given)};
    };
    const auto let_go = [arguments] {
      std::apply([](auto&... each) { (each.reset(), ...); }, *arguments);
    };
    return ghost::checkpoint_reentrant_of_several(function, {x, further}, let_go)[0];
  }

  const nn::ModuleTree& tree_;
};

}  // namespace memtape::family
