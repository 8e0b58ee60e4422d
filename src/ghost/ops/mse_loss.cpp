// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/mse_loss.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/trace.h"

namespace memtape::ghost {
namespace {

struct MseLossBackward0 final : Node {
  MseLossBackward0() : Node("MseLossBackward0") {}
  void apply(Gradients&, Gradients& out) override {
    const Tensor input = self.unpack();
    const Op op("mse_loss_backward", {});
    out[0] = empty_like(input, input.dtype());
  }
  void release() override {
    self.reset();
    target.reset();
  }
  Saved self, target;
};

}  // namespace

Tensor mse_loss(const Tensor& input, const Tensor& target) {
  Op op("mse_loss", {});
  traced_reads({&input, &target});
  const Session& s = session();
  Ptr<MseLossBackward0> node;
  if (input.requires_grad() && s.grad_enabled && !s.skipping) {
    node = op.node<MseLossBackward0>({&input});
    node->self.keep(input);
    node->target.keep(target);
  }
  const Tensor squares = empty(input.sizes(), input.dtype());  // before their mean is taken
  Tensor loss = empty({}, input.dtype());
  if (node) set_history(loss, node);
  return loss;
}

}  // namespace memtape::ghost
