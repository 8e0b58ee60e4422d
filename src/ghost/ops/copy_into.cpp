// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/copy_into.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"

namespace memtape::ghost {
namespace {

/// CopySlices::apply_impl: the gradient is copied; its part goes to the source, and zeros take that
/// part's place in what goes on to the tensor as it was.
struct CopySlices final : Node {
  CopySlices(std::int64_t from, std::int64_t to) : Node("CopySlices"), start(from), end(to) {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor result = empty_as_base(in[0]);
    const Tensor grad_slice = clone_contiguous(result.slice(-1, start, end));
    const Tensor of_overwritten = wants(0) ? zeros_like(grad_slice) : Tensor();
    if (wants(0)) out[0] = result;
    if (wants(1)) out[1] = grad_slice.to(source_dtype);
  }
  void release() override {}
  std::int64_t start, end;
  Dims base_strides;
  DType source_dtype = DType::float32;

 private:
  Tensor empty_as_base(const Tensor& grad) const {
    const Op op("new_empty_strided", {});
    return empty_strided(grad.sizes(), base_strides, grad.dtype());
  }
};

}  // namespace

void copy_into_last(const Tensor& tensor, std::int64_t start, std::int64_t end, const In& source) {
  Op op("copy_", {&source});
  const Session& s = session();
  if (!s.grad_enabled || s.skipping || !(tensor.requires_grad() || source->requires_grad())) return;
  const Ptr<CopySlices> node = op.node<CopySlices>({&tensor, &*source}, start, end);
  node->base_strides = tensor.strides();
  node->source_dtype = source->dtype();
  set_history(tensor, node);
}

}  // namespace memtape::ghost
