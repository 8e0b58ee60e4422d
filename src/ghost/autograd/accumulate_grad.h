// SPDX-License-Identifier: Apache-2.0
// AccumulateGrad: the sink of the graph at a leaf. The first gradient is stolen if nobody else
// holds it and its layout is the variable's, else copied; later ones are added in place
// (torch/csrc/autograd/functions/accumulate_grad.h).
#pragma once

#include <functional>
#include <limits>

#include "ghost/autograd/node.h"

namespace memtape::ghost {

struct AccumulateGrad : Node {
  explicit AccumulateGrad(const Tensor& leaf);
  ~AccumulateGrad() override;
  void apply(Gradients& in, Gradients& out) override;
  void release() override {}

  Tensor variable;
};

/// The leaf's AccumulateGrad: one per leaf while any graph holds it.
Ptr<Node> grad_accumulator(const Tensor& leaf);

}  // namespace memtape::ghost
