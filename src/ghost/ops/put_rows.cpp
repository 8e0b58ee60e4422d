// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/put_rows.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/indexing.h"

namespace memtape::ghost {
namespace {

/// The source's gradient is picked, or gathered, from where it was put.
struct PutRowsBackward final : Node {
  PutRowsBackward() : Node("IndexPutBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor where = indices.unpack();
    out[0] = index(in[0], where);
  }
  void release() override { indices.reset(); }
  Saved indices;
};

/// self's gradient is the sum's own.
struct ScatterAddBackward0 final : Node {
  ScatterAddBackward0() : Node("ScatterAddBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor where = indices.unpack();
    if (wants(1)) out[1] = gather(in[0], where);
    if (wants(0)) out[0] = in[0];
  }
  void release() override { indices.reset(); }
  Saved indices;
};

}  // namespace

void put_rows_(const Tensor& self, const Tensor& indices, const In& source) {
  Op op("index_put_", {&source});
  if (indices.dtype() == DType::int32)
    const Tensor converted = empty(indices.sizes(), DType::int64);
  if (!op.differentiable()) return;
  const Ptr<PutRowsBackward> node = op.node<PutRowsBackward>({&*source});
  node->indices.keep(indices);
  set_history(self, node);
}

Tensor scatter_add(const In& self, const Tensor& indices, const In& source) {
  Op op("scatter_add", {&self, &source});
  Ptr<ScatterAddBackward0> node;
  if (op.differentiable()) {
    node = op.node<ScatterAddBackward0>({&*self, &*source});
    node->indices.keep(indices);
  }
  Tensor out = empty(self->sizes(), self->dtype());
  if (node) set_history(out, node);
  return out;
}

}  // namespace memtape::ghost
