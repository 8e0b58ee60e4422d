// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/optimizer_in_backward.h"

#include <array>
#include <string_view>
#include <utility>

#include "framework/torch/strategy.h"
#include "ghost/autograd/accumulate_grad.h"

namespace memtape::torch {
namespace {

/// tensor_post_acc_grad_hooks of torch/csrc/autograd/functions/accumulate_grad.cpp. The node holds
/// the gradient that came in until the hook is done.
struct SteppingAccumulateGrad final : ghost::AccumulateGrad {
  SteppingAccumulateGrad(const Tensor& leaf, Optimizer& stepping)
      : AccumulateGrad(leaf), optimizer(stepping) {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    const Tensor new_grad = in[0].detach();
    AccumulateGrad::apply(in, out);
    optimizer.step();
    optimizer.zero_grad();
  }
  Optimizer& optimizer;
};

/// What --strategy says to the plain loop.
struct LoopOptions {
  bool steps = false;
};
constexpr auto kLoopFields = std::to_array<ConfigField<LoopOptions>>(
    {{"optimizer_in_backward", fields::put<&LoopOptions::steps>}});

}  // namespace

OptimizerInBackward::OptimizerInBackward(TensorList parameters, const Make& make)
    : Optimizer(std::move(parameters)) {
  for (std::size_t place = 0; place < parameters_.size(); ++place) {
    of_each_.push_back(make(place));
    accumulators_.push_back(
        ghost::make_node<SteppingAccumulateGrad>(parameters_[place], *of_each_.back()));
  }
}

void OptimizerInBackward::step_at(const Tensor& parameter) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].ptr().get() != parameter.ptr().get()) continue;
    of_each_[i]->step();
    of_each_[i]->zero_grad();
  }
}

Bytes OptimizerInBackward::state_bytes() const {
  Bytes bytes = 0;
  for (const auto& optimizer : of_each_) bytes += optimizer->state_bytes();
  return bytes;
}

std::unique_ptr<OptimizerInBackward> make_optimizer_in_backward(const TrainRecipe& recipe,
                                                                const TensorList& parameters) {
  return std::make_unique<OptimizerInBackward>(
      parameters, [&](std::size_t place) { return make_optimizer(recipe, {parameters[place]}); });
}

Result<void> read_loop_strategy(std::string_view json, TrainRecipe& recipe) {
  return read_strategy(json, kLoopFields, recipe);
}

Result<bool> steps_in_backward(const TrainRecipe& recipe) {
  if (!recipe.own.of<LoopOptions>().steps) return false;
  const auto needs_all = [](std::string_view what, std::string_view option, std::string_view hint) {
    return unsupported(std::string(what) +
                           " wants all gradients, of which an optimizer in backward "
                           "leaves none",
                       std::string(option), std::string(hint));
  };
  if (recipe.gradient_accumulation > 1)
    return needs_all("accumulation", "--gradient-accumulation", "1");
  if (recipe.max_grad_norm) return needs_all("clipping", "--max-grad-norm", "none");
  if (recipe.precision == Precision::amp_fp16)
    return needs_all("unscaling", "--precision amp-fp16", "amp-bf16");
  if (recipe.compile)
    return unsupported("compiled steps are not modelled with an optimizer in backward", "--compile",
                       "leave it out");
  return true;
}

}  // namespace memtape::torch
