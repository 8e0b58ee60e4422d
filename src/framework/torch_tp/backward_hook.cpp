// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_tp/backward_hook.h"

#include <utility>

#include "ghost/autograd/function.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"

namespace memtape::torch_tp {
namespace {

using ghost::Tensor;
using Held = std::shared_ptr<Tensor>;

/// BackwardHookFunction, with what its hook does to the gradient that is held.
struct BackwardHookFunctionBackward final : ghost::Node {
  BackwardHookFunctionBackward(Held of_call, bool holds_gradient)
      : Node("BackwardHookFunctionBackward"), held(std::move(of_call)), holds(holds_gradient) {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    out[0] = in[0];
    *held = holds ? in[0] : Tensor();
  }
  void release() override {}
  Held held;
  bool holds;
};

void pass_through(Tensor& tensor, const Held& held, bool holds) {
  const auto node = ghost::function_node<BackwardHookFunctionBackward>({&tensor}, held, holds);
  if (!node) return;
  Tensor passed = ghost::alias(tensor, tensor.sizes(), tensor.strides());
  ghost::set_history(passed, node);
  tensor = std::move(passed);
}

}  // namespace

void BackwardHook::before_forward(Tensor& input) {
  grad_output_ = std::make_shared<Tensor>();
  pass_through(input, grad_output_, false);
}

void BackwardHook::after_forward(Tensor& output) { pass_through(output, grad_output_, true); }

}  // namespace memtape::torch_tp
