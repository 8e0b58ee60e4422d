// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/copy_into.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"

namespace memtape::ghost {
namespace {

/// CopySlices::apply_impl: the gradient is copied; its part goes to the source, and zeros take that
/// part's place in what goes on to the tensor as it was.
struct CopySlices final : Node {
  explicit CopySlices(const Tensor& view) : Node("CopySlices"), part(view.sizes()) {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor result = empty_as_base(in[0]);
    const Tensor grad_slice = clone_of_part(result.dtype());
    const Tensor of_overwritten = wants(0) ? zeros_like(grad_slice) : Tensor();
    if (wants(0)) out[0] = result;
    if (wants(1)) out[1] = grad_slice.to(source_dtype);
  }
  void release() override {}
  Dims part, base_strides;
  DType source_dtype = DType::float32;

 private:
  Tensor clone_of_part(DType dtype) const {
    const Op op("clone", {});
    return empty(part, dtype);
  }
  Tensor empty_as_base(const Tensor& grad) const {
    const Op op("new_empty_strided", {});
    return empty_strided(grad.sizes(), base_strides, grad.dtype());
  }
};

}  // namespace

void copy_into(const Tensor& tensor, const Tensor& view, const In& source) {
  Op op("copy_", {&source});
  const Session& s = session();
  if (!s.grad_enabled || s.skipping || !(tensor.requires_grad() || source->requires_grad())) return;
  const Ptr<CopySlices> node = op.node<CopySlices>({&tensor, &*source}, view);
  node->base_strides = tensor.strides();
  node->source_dtype = source->dtype();
  set_history(tensor, node);
}

void copy_into_last(const Tensor& tensor, std::int64_t start, std::int64_t end, const In& source) {
  copy_into(tensor, tensor.slice(-1, start, end), source);
}

}  // namespace memtape::ghost
