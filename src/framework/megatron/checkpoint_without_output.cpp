// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/checkpoint_without_output.h"

#include <array>
#include <utility>

#include "ghost/autograd/engine.h"

namespace memtape::megatron {
namespace {

using ghost::Gradients;
using ghost::Node;

constexpr std::size_t kMostInputs = 4;

/// Hands a gradient to each of several outputs: torch.autograd.backward has as many roots.
struct Roots final : Node {
  Roots() : Node("Roots") {}
  void apply(Gradients&, Gradients& out) override {
    for (std::size_t i = 0; i < gradients.size(); ++i) out[i] = std::move(gradients[i]);
  }
  void release() override { gradients.clear(); }

  std::vector<Tensor> gradients;
};

/// A tensor without memory.
Tensor nothing() {
  Tensor tensor{ghost::Ptr<ghost::TensorImpl>(ghost::make_impl())};
  tensor.impl().sizes = {0};
  tensor.impl().strides = {1};
  return tensor;
}

void backward_from(const std::vector<Tensor>& outputs, Gradients& gradients) {
  const auto roots = ghost::make_node<Roots>();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].impl().grad_fn || !gradients[i].defined()) continue;
    roots->edges.push_back(ghost::gradient_edge(outputs[i]));
    roots->gradients.push_back(gradients[i]);
  }
  if (roots->edges.empty()) return;
  const Tensor root = nothing();
  ghost::set_history(root, roots);
  ghost::backward(root, nothing());
}

}  // namespace

/// CheckpointWithoutOutputFunction.
struct CheckpointWithoutOutput::Call final : Node {
  explicit Call(Function run)
      : Node("CheckpointWithoutOutputFunctionBackward"), function(std::move(run)) {}

  void recompute() {
    for (std::size_t i = 0; i < count; ++i) {
      const Tensor input = saved[i].defined() ? saved[i].unpack() : Tensor();
      Tensor detached = input.defined() ? input.detach() : Tensor();
      if (detached.defined()) detached.impl().requires_grad = input.requires_grad();
      again.push_back(std::move(detached));
    }
    const ghost::GradMode with(true);
    outputs = function(again);
  }
  void apply(Gradients& in, Gradients& out) override {
    backward_from(outputs, in);
    outputs.clear();
    for (std::size_t i = 0; i < again.size(); ++i)
      if (again[i].defined() && again[i].impl().grad) out[i] = again[i].grad();
    again.clear();
  }
  void release() override {
    for (ghost::Saved& one : saved) one.reset();
  }

  Function function;
  std::array<ghost::Saved, kMostInputs> saved;
  std::size_t count = 0;
  std::vector<Tensor> again;  ///< the inputs of the second run
  Outputs outputs;            ///< its outputs, whose memory those of the first now share
};

CheckpointWithoutOutput::Outputs CheckpointWithoutOutput::checkpoint(
    Function function, const std::vector<Tensor>& inputs) {
  const ghost::Session& s = ghost::session();
  ghost::Ptr<Call> call;
  if (s.grad_enabled && !s.skipping) {
    call = ghost::make_node<Call>(function);
    for (const Tensor& input : inputs) {
      call->edges.push_back(ghost::gradient_edge(input));
      if (input.defined()) call->saved[call->count].keep(input);
      ++call->count;
    }
  }
  {
    const ghost::GradMode without(false);
    outputs_ = function(inputs);
  }
  if (call)
    for (const Tensor& output : outputs_) ghost::set_history(output, call);
  call_ = call;
  return outputs_;
}

void CheckpointWithoutOutput::discard_output_and_register_recompute(const Tensor& made_by_user) {
  for (const Tensor& output : outputs_)
    if (output.impl().storage) ghost::session().release(*output.impl().storage);
  outputs_.clear();
  if (!call_ || !made_by_user.impl().grad_fn) return;
  const auto recompute = [call = std::move(call_)](Gradients&) {
    static_cast<Call&>(*call).recompute();
  };
  made_by_user.impl().grad_fn->add_hooks().before.push_back(recompute);
}

}  // namespace memtape::megatron
