// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/low_rank/layerwise.h"

#include "ghost/autograd/accumulate_grad.h"

namespace memtape::transformers {
namespace {

/// register_post_accumulate_grad_hook(optimizer_hook). The node holds the gradient that came in
/// until the hook is done.
struct SteppingAccumulateGrad final : ghost::AccumulateGrad {
  SteppingAccumulateGrad(const ghost::Tensor& leaf, torch::Optimizer& of_leaf)
      : AccumulateGrad(leaf), optimizer(of_leaf) {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    const ghost::Tensor new_grad = in[0].detach();
    AccumulateGrad::apply(in, out);
    optimizer.step();
    optimizer.zero_grad();
  }
  torch::Optimizer& optimizer;
};

}  // namespace

Layerwise::Layerwise(torch::TensorList parameters, const Make& make)
    : Optimizer(std::move(parameters)) {
  for (std::size_t place = 0; place < parameters_.size(); ++place) {
    optimizers_.push_back(make(place));
    hooks_.push_back(
        ghost::make_node<SteppingAccumulateGrad>(parameters_[place], *optimizers_.back()));
  }
}

Bytes Layerwise::state_bytes() const {
  Bytes bytes = 0;
  for (const auto& optimizer : optimizers_) bytes += optimizer->state_bytes();
  return bytes;
}

}  // namespace memtape::transformers
