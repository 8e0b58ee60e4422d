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

  /// A layer that hands the weights of its attention to whom it was told to (return_weights_to).
  template <class Function>
  Tensor reentrant_with_weights_apart(const Function& function, const Tensor& x,
                                      const std::function<void()>& let_go) {
    Self* const self = static_cast<Self*>(this);
    Tensor* const taker = self->weights_taker();
    const auto with_weights = [self, function](const Tensor& input) {
      ghost::CheckpointOutputs outputs;
      self->return_weights_to(&outputs.attn_weights);
      outputs.hidden_states = function(input);
      self->return_weights_to(nullptr);
      return outputs;
    };
    ghost::CheckpointOutputs outputs = ghost::checkpoint_reentrant(with_weights, x, let_go);
    if (taker) *taker = std::move(outputs.attn_weights);
    return std::move(outputs.hidden_states);
  }

  /// What runs a layer with one output, or two, as a reentrant checkpoint does.
  template <class Output, class Function>
  Output reentrant(const Function& function, const Tensor& x, const std::function<void()>& let_go) {
    if constexpr (!std::is_same_v<Output, Tensor>) {
      const auto with_weights = [function](const Tensor& input) {
        Output output = function(input);
        return ghost::CheckpointOutputs{std::move(output.hidden_states),
                                        std::move(output.attn_weights)};
      };
      ghost::CheckpointOutputs outputs = ghost::checkpoint_reentrant(with_weights, x, let_go);
      return Output{std::move(outputs.hidden_states), std::move(outputs.attn_weights)};
    } else if constexpr (requires(Self& self) { self.weights_taker(); }) {
      return reentrant_with_weights_apart(function, x, let_go);
    } else {
      const auto alone = [function](const Tensor& input) {
        return ghost::CheckpointOutputs{function(input), {}};
      };
      return ghost::checkpoint_reentrant(alone, x, let_go).hidden_states;
    }
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
    if constexpr (std::is_same_v<Output, Tensor> ||
                  requires(Output output) { Output{output.hidden_states, output.attn_weights}; })
      return reentrant<Output>(function, *x, let_go);
    ghost::session().fail({ErrorKind::unsupported,
                           "reentrant checkpointing of a layer with several outputs",
                           "--gradient-checkpointing", "full is the default of transformers 5"});
    return call(x, rest...);
  }

 private:
  const ModuleTree& tree_;
};

}  // namespace memtape::nn
