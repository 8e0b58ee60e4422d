// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/module_hooks.h"

#include <functional>
#include <utility>

#include "ghost/autograd/function.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"

namespace memtape::deepspeed {
namespace {

/// An identity whose backward calls back.
struct ModuleBackward final : ghost::Node {
  ModuleBackward(const char* node_name, std::function<void()> callback)
      : Node(node_name), called(std::move(callback)) {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    called();
    out[0] = in[0];
  }
  void release() override {}
  std::function<void()> called;
};

void pass_through(Tensor& tensor, const char* name, std::function<void()> callback) {
  const auto node = ghost::function_node<ModuleBackward>({&tensor}, name, std::move(callback));
  if (!node) return;
  Tensor passed = ghost::alias(tensor, tensor.sizes(), tensor.strides());
  ghost::set_history(passed, node);
  tensor = std::move(passed);
}

}  // namespace

/// A recompute that has all it needs has left the module by an exception.
void ModuleHooks::before_forward(Tensor& input) {
  if (ghost::session().skipping || coordinator_.is_unhooked) return;
  fetch();
  watch_input(input);
}

void ModuleHooks::after_forward(Tensor& output) {
  if (ghost::session().skipping || coordinator_.is_unhooked) return;
  release();
  watch_output(output);
}

void ModuleHooks::after_further_output(Tensor& output) {
  if (!ghost::session().skipping && !coordinator_.is_unhooked) watch_output(output);
}

void ModuleHooks::watch_output(Tensor& output) {
  pass_through(output, "PreBackwardFunctionForModuleBackward",
               [this] { coordinator_.fetch_sub_module(module_, false); });
}

/// A forward begins to count anew, though the backward of one before it is still to come.
void ModuleHooks::watch_input(Tensor& input) {
  grads_remaining_ = input.defined() && input.requires_grad() ? 1 : 0;
  pass_through(input, "PostBackwardFunctionModuleBackward", [this] {
    if (--grads_remaining_ == 0) coordinator_.release_sub_module(module_, false);
  });
}

}  // namespace memtape::deepspeed
