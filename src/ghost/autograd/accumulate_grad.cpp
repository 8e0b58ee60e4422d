// SPDX-License-Identifier: Apache-2.0
#include "ghost/autograd/accumulate_grad.h"

#include "ghost/ops/copies.h"

namespace memtape::ghost {
namespace {

/// torch::autograd::utils::obeys_layout_contract: strides match those of a dense variable (sizes of
/// 1 aside), or packed.
bool obeys_layout_contract(const Tensor& grad, const Tensor& variable) {
  if (!is_non_overlapping_and_dense(variable.sizes(), variable.strides()))
    return grad.is_contiguous();
  for (int i = 0; i < grad.dim(); ++i)
    if (grad.size(i) != 1 && grad.strides()[i] != variable.strides()[i]) return false;
  return true;
}

}  // namespace

AccumulateGrad::AccumulateGrad(const Tensor& leaf) : Node("AccumulateGrad"), variable(leaf) {
  sequence = std::numeric_limits<std::uint64_t>::max();  // runs as soon as it is ready
  leaf.impl().accumulator = this;
  metadata.push_back({leaf.sizes(), leaf.dtype()});
}

AccumulateGrad::~AccumulateGrad() { variable.impl().accumulator = nullptr; }

void AccumulateGrad::apply(Gradients& in, Gradients&) {
  Tensor fresh = std::move(in[0]);
  TensorImpl& leaf = variable.impl();
  if (leaf.grad) {
    Op op("add_", {});
    return;  // in place: variable.grad += fresh
  }
  // A post hook makes the engine keep the gradients it handed in.
  const std::uint32_t expected = has_post_hooks() ? 2 : 1;
  if (fresh.ptr()->refs <= expected && obeys_layout_contract(fresh, variable))
    leaf.grad = std::move(fresh).detach().ptr();
  else
    leaf.grad = copy_as(fresh, variable).ptr();
  session().set_category(Tensor(leaf.grad), Category::gradient);
}

Ptr<Node> grad_accumulator(const Tensor& leaf) {
  if (Node* existing = leaf.impl().accumulator) return Ptr<Node>(existing);
  return make_node<AccumulateGrad>(leaf);
}

}  // namespace memtape::ghost
