// SPDX-License-Identifier: Apache-2.0
#include "ghost/autograd/checkpoint_of_two.h"

#include <array>
#include <utility>

#include "ghost/autocast.h"
#include "ghost/autograd/engine.h"
#include "ghost/autograd/node.h"

namespace memtape::ghost {
namespace {

using FunctionOfTwo = std::function<Tensor(const Tensor&, const Tensor&)>;

/// detach_variable
Tensor detached_copy(const Saved& saved, bool requires_grad) {
  const Tensor input = saved.unpack();
  Tensor detached = input.detach();
  detached.impl().requires_grad = requires_grad;
  return detached;
}

struct CheckpointOfTwoBackward final : Node {
  CheckpointOfTwoBackward(const FunctionOfTwo& run_function, const Tensor& input,
                          const Tensor& other, const std::function<void()>& let_go_of_saved)
      : Node("CheckpointFunctionBackward"),
        function(run_function),
        let_go(let_go_of_saved),
        requires_grad{input.requires_grad(), other.requires_grad()},
        autocast(session().autocast.enabled),
        autocast_dtype(session().autocast.dtype) {}

  void apply(Gradients& in, Gradients& out) override {
    const Tensor input = detached_copy(saved[0], requires_grad[0]);
    const Tensor other = detached_copy(saved[1], requires_grad[1]);
    const Tensor output = run_again(input, other);
    if (output.requires_grad()) ghost::backward(output, in[0]);
    out[0] = input.grad();
    out[1] = other.grad();
  }
  void release() override {
    for (Saved& one : saved) one.reset();
    if (let_go) let_go();
  }

  Tensor run_again(const Tensor& input, const Tensor& other) const {
    Session& s = session();
    const char* const node = std::exchange(s.node, "");
    const GradMode enable_grad(true);
    const AutocastContext context(autocast, autocast_dtype);
    Tensor output = function(input, other);
    s.node = node;
    return output;
  }

  std::array<Saved, 2> saved;
  FunctionOfTwo function;
  std::function<void()> let_go;
  std::array<bool, 2> requires_grad;
  bool autocast;
  DType autocast_dtype;
};

}  // namespace

Tensor checkpoint_reentrant_of_two(const FunctionOfTwo& function, const Tensor& input,
                                   const Tensor& other, const std::function<void()>& let_go) {
  Ptr<CheckpointOfTwoBackward> node;
  if (session().grad_enabled && (input.requires_grad() || other.requires_grad())) {
    node = make_node<CheckpointOfTwoBackward>(function, input, other, let_go);
    node->edges.push_back(gradient_edge(input));
    node->edges.push_back(gradient_edge(other));
  }
  Tensor output;
  {
    const GradMode no_grad(false);
    output = function(input, other);
  }
  if (node) {
    node->saved[0].keep(input);
    node->saved[1].keep(other);
    set_history(output, node);
  }
  return output;
}

}  // namespace memtape::ghost
