// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/view_in_place.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"

namespace memtape::ghost {
namespace {

/// CopySlices::apply around MulBackward0, DivBackward0 or AddBackward0: the gradient is copied, and
/// the part of the view runs through the op's own node.
struct ViewCopySlices final : Node {
  explicit ViewCopySlices(const Dims& view) : Node("CopySlices"), view_sizes(view) {}
  void apply(Gradients& in, Gradients& out) override {
    Tensor result;
    {
      Op op("new_empty_strided", {});
      result = empty(in[0].sizes(), in[0].dtype());
    }
    const bool shows_all = numel(view_sizes) == result.numel();
    const Tensor slice =
        clone_contiguous(shows_all ? result.view(view_sizes) : result.slice(1, 0, view_sizes[1]));
    if (adds && wants(1)) out[1] = slice;
    const Tensor part = adds ? slice : divides ? slice.div(2.0) : slice.mul(other.unpack());
    out[0] = result;
  }
  void release() override { other.reset(); }
  Saved other;
  Dims view_sizes;
  bool divides = false, adds = false;
};

/// as_strided_backward where neither geometry overlaps: zeros of the base's memory, written through
/// the view.
struct AsStridedBackward0 final : Node {
  explicit AsStridedBackward0(const Dims& input) : Node("AsStridedBackward0"), sizes(input) {}
  void apply(Gradients& in, Gradients& out) override { out[0] = zeros(sizes, in[0].dtype()); }
  void release() override {}
  Dims sizes;
};

/// What both ops do to the history; the node, or null where there is none to keep.
Ptr<ViewCopySlices> write_through(Op& op, const Tensor& view) {
  if (!op.differentiable()) return {};
  const Tensor base(view.impl().base);
  const Ptr<ViewCopySlices> slices = op.node<ViewCopySlices>({&base}, view.sizes());
  set_history(base, slices);
  set_history(view, op.node<AsStridedBackward0>({&base}, base.sizes()));
  return slices;
}

}  // namespace

void mul_view_(const Tensor& view, const Tensor& other) {
  const In operand(view);
  Op op("mul_", {&operand});
  if (const Ptr<ViewCopySlices> slices = write_through(op, view)) slices->other.keep(other);
}

void add_view_(const Tensor& view, const In& other) {
  const In operand(view);
  Op op("add_", {&operand, &other});
  if (const Ptr<ViewCopySlices> slices = write_through(op, view)) {
    slices->adds = true;
    slices->edges.push_back(gradient_edge(*other));
  }
}

void div_view_(const Tensor& view) {
  const In operand(view);
  Op op("div_", {&operand});
  if (const Ptr<ViewCopySlices> slices = write_through(op, view)) slices->divides = true;
}

}  // namespace memtape::ghost
