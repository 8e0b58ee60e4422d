// SPDX-License-Identifier: Apache-2.0
#include "ghost/autograd/checkpoint_of_several.h"

#include <algorithm>
#include <utility>

#include "ghost/autocast.h"
#include "ghost/autograd/engine.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"

namespace memtape::ghost {
namespace {

using Tensors = std::vector<Tensor>;

struct CheckpointOfSeveralBackward final : Node {
  CheckpointOfSeveralBackward(const CheckpointedPart& run_function, const Tensors& inputs,
                              const std::function<void()>& let_go_of_saved)
      : Node("CheckpointFunctionBackward"),
        function(run_function),
        let_go(let_go_of_saved),
        saved(inputs.size()),
        autocast(session().autocast.enabled),
        autocast_dtype(session().autocast.dtype) {
    for (const Tensor& input : inputs) {
      requires_grad.push_back(input.defined() && input.requires_grad());
      edges.push_back(input.defined() ? gradient_edge(input) : Edge());
    }
  }

  void apply(Gradients& in, Gradients& out) override {
    materialize_gradients(in);
    const Tensors inputs = detached_inputs();
    const Tensors outputs = run_again(inputs);
    Tensors outputs_with_grad, gradients;
    std::size_t place = 0;  // of the gradients, which belong to the outputs that are tensors
    for (const Tensor& output : outputs) {
      if (!output.defined()) continue;
      if (output.requires_grad()) {
        outputs_with_grad.push_back(output);
        gradients.push_back(in[place]);
      }
      ++place;
    }
    if (!outputs_with_grad.empty()) ghost::backward(outputs_with_grad, gradients);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].defined()) out[i] = inputs[i].grad();
  }
  void release() override {
    for (Saved& one : saved) one.reset();
    if (let_go) let_go();
  }

  void materialize_gradients(Gradients& in) const {
    for (std::size_t i = 0; i < in.size(); ++i)
      if (!in[i].defined()) in[i] = zeros(metadata[i].sizes, metadata[i].dtype);
  }

  /// detach_variable
  Tensors detached_inputs() const {
    Tensors detached(saved.size());
    for (std::size_t i = 0; i < saved.size(); ++i) {
      if (!saved[i].defined()) continue;
      detached[i] = saved[i].unpack().detach();
      detached[i].impl().requires_grad = requires_grad[i];
    }
    return detached;
  }

  Tensors run_again(const Tensors& inputs) const {
    Session& s = session();
    const char* const node = std::exchange(s.node, "");
    const GradMode enable_grad(true);
    const AutocastContext context(autocast, autocast_dtype);
    Tensors outputs = function(inputs);
    s.node = node;
    return outputs;
  }

  CheckpointedPart function;
  std::function<void()> let_go;
  std::vector<Saved> saved;
  std::vector<bool> requires_grad;
  bool autocast;
  DType autocast_dtype;
};

/// _process_backward_mode_ad: an output that is an input becomes a view of it.
void give_history(Tensors& outputs, const Tensors& inputs,
                  const Ptr<CheckpointOfSeveralBackward>& node) {
  for (Tensor& output : outputs) {
    if (!output.defined()) continue;
    const auto is_output = [&](const Tensor& input) {
      return input.defined() && &input.impl() == &output.impl();
    };
    if (std::any_of(inputs.begin(), inputs.end(), is_output)) output = output.detach();
    set_history(output, node);
  }
}

}  // namespace

Tensors checkpoint_reentrant_of_several(const CheckpointedPart& part, const Tensors& inputs,
                                        const std::function<void()>& let_go) {
  const auto wants = [](const Tensor& input) { return input.defined() && input.requires_grad(); };
  Ptr<CheckpointOfSeveralBackward> node;
  if (session().grad_enabled && std::any_of(inputs.begin(), inputs.end(), wants))
    node = make_node<CheckpointOfSeveralBackward>(part, inputs, let_go);
  Tensors outputs;
  {
    const GradMode no_grad(false);
    outputs = part(inputs);
  }
  if (node) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].defined()) node->saved[i].keep(inputs[i]);
    give_history(outputs, inputs, node);
  }
  return outputs;
}

}  // namespace memtape::ghost
