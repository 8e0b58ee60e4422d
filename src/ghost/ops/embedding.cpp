// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/embedding.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"

namespace memtape::ghost {
namespace {

struct EmbeddingBackward0 final : Node {
  explicit EmbeddingBackward0(const Dims& table) : Node("EmbeddingBackward0"), sizes(table) {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor picked = indices.unpack();
    const Tensor grad = in[0].contiguous();
    out[0] = zeros(sizes, in[0].dtype());
  }
  void release() override { indices.reset(); }
  Saved indices;
  Dims sizes;
};

}  // namespace

Tensor embedding(const Tensor& weight, const In& indices) {
  Op op("embedding", {&indices});
  Session& s = session();
  Ptr<EmbeddingBackward0> node;
  if (weight.requires_grad() && s.grad_enabled && !s.skipping) {
    node = op.node<EmbeddingBackward0>({&weight}, weight.sizes());
    node->indices.keep(*indices);
  }
  Tensor out = empty(indices->sizes().with(weight.size(1)), weight.dtype());
  if (node) set_history(out, node);
  return out;
}

}  // namespace memtape::ghost
