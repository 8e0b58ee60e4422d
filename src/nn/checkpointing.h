// SPDX-License-Identifier: Apache-2.0
// GradientCheckpointingLayer: the unit that model.gradient_checkpointing_enable() computes again in
// backward (transformers' modeling_layers.py). A family derives its layer from it in place of
// Module, and calls the layer with every tensor that the Python call passes, used or not: a
// checkpointed call keeps all of them, as Python's partial does.
#pragma once

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ghost/autograd/checkpoint.h"
#include "nn/layer_frame.h"
#include "nn/module.h"
#include "release/transformers_4_changes.h"

namespace memtape::nn {

template <class Self>
class GradientCheckpointingLayer : public Module<Self> {
 private:
  template <class... Rest>
  auto call(const In& x, const Rest&... rest) {
    const LayerFrame frame;
    return Module<Self>::operator()(x, rest...);
  }

  /// Whether the tensors beside the input are saved as the input is: those that come by position.
  /// What comes by name lives in the partial that runs the layer.
  static bool saves_arguments() {
    if constexpr (requires { Self::kTakesTensorsByPosition; }) return true;
    return !ghost::has(changes::kLayersCheckpointThemselves);
  }

  static void forget(Tensor& tensor) { tensor.reset(); }
  /// Positions in the place of cos and sin are a tensor by themselves.
  static void forget(std::pair<Tensor, Tensor>& tensors) {
    if (!tensors.second.defined()) tensors.first.reset();
  }
  template <class Other>
  static void forget(Other&) {}  // no tensor itself: it stays in the context

  /// A layer that also returns the weights of its attention. Those of the forward belong to the
  /// caller; those of the second run go with that run.
  template <class Output, class Function>
  static Output reentrant_with_weights(const Function& function, const Tensor& x,
                                       const std::function<void()>& let_go) {
    const auto weights = std::make_shared<Tensor>();
    const std::weak_ptr<Tensor> of_forward = weights;
    Tensor hidden_states = ghost::checkpoint_reentrant(
        [function, of_forward](const Tensor& input) {
          Output output = function(input);
          if (const auto slot = of_forward.lock()) *slot = std::move(output.attn_weights);
          return std::move(output.hidden_states);
        },
        x, let_go);
    return Output{std::move(hidden_states), std::move(*weights)};
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
    if (kind == GradientCheckpointing::non_reentrant)
      return ghost::checkpoint(
          [this, rest...](const Tensor& input) { return call(input, rest...); }, *x);
    const auto arguments = std::make_shared<std::tuple<Rest...>>(rest...);
    const auto function = [this, arguments](const Tensor& input) {
      return std::apply([&](const Rest&... each) { return call(input, each...); }, *arguments);
    };
    const std::function<void()> let_go =
        saves_arguments()
            ? [arguments] { std::apply([](Rest&... each) { (forget(each), ...); }, *arguments); }
            : std::function<void()>();
    using Output = decltype(call(x, rest...));
    if constexpr (std::is_same_v<Output, Tensor>)
      return ghost::checkpoint_reentrant(function, *x, let_go);
    if constexpr (requires(Output output) { Output{output.hidden_states, output.attn_weights}; })
      return reentrant_with_weights<Output>(function, *x, let_go);
    ghost::session().fail({ErrorKind::unsupported,
                           "reentrant checkpointing of a layer with several outputs",
                           "--gradient-checkpointing", "full is the default of transformers 5"});
    return call(x, rest...);
  }

 private:
  const ModuleTree& tree_;
};

}  // namespace memtape::nn
