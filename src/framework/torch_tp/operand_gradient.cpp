// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_tp/operand_gradient.h"

#include <memory>

#include "ghost/autograd/function.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"

namespace memtape::torch_tp {
namespace {

using ghost::Tensor;

Tensor copy_of(const Tensor& gradient, Copied how) {
  const ghost::Op op(how == Copied::all_reduced ? "all_reduce" : "_partition_value", {});
  return ghost::empty(gradient.sizes(), gradient.dtype(), Category::communication);
}

struct PartitionedBackward final : ghost::Node {
  explicit PartitionedBackward(std::shared_ptr<Tensor> slot)
      : Node("InputBuffer"), original(std::move(slot)) {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    *original = in[0];
    out[0] = copy_of(in[0], Copied::partitioned);
  }
  void release() override {}
  std::shared_ptr<Tensor> original;  ///< until all are added up
};

}  // namespace

void copy_gradient_of(const Tensor& output, Copied how) {
  const auto& node = output.impl().grad_fn;
  if (!node) return;
  const auto original = std::make_shared<Tensor>();
  ghost::NodeHooks& hooks = node->add_hooks();
  hooks.before.push_back([original, how, at = output.impl().output_nr](ghost::Gradients& in) {
    *original = in[at];
    in[at] = copy_of(in[at], how);
  });
  hooks.after.push_back([original] { original->reset(); });
}

Tensor with_partitioned_gradient(const Tensor& x) {
  const auto& made_by = x.impl().grad_fn;
  const auto original = std::make_shared<Tensor>();
  const auto node = ghost::function_node<PartitionedBackward>({&x}, original);
  if (!node || !made_by) return x;
  made_by->add_hooks().before.push_back([original](ghost::Gradients&) { original->reset(); });
  Tensor same = ghost::alias(x, x.sizes(), x.strides());
  ghost::set_history(same, node);
  return same;
}

}  // namespace memtape::torch_tp
