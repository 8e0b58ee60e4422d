// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/flat_tensors.h"

#include "ghost/ops/joins.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"

namespace memtape::deepspeed {

Tensor flatten(const std::vector<Tensor>& tensors) {
  if (tensors.size() == 1) return narrow(tensors.front(), 0, tensors.front().numel());
  const ghost::GradMode no_grad(false);
  std::vector<Tensor> rows;
  rows.reserve(tensors.size());
  for (const Tensor& tensor : tensors) rows.push_back(narrow(tensor, 0, tensor.numel()));
  return ghost::cat(rows, 0);
}

Tensor narrow(const Tensor& tensor, std::int64_t, std::int64_t elements) {
  return ghost::alias(tensor, {elements}, {1});
}

void put_data(const Tensor& tensor, const Tensor& elements) {
  ghost::TensorImpl& impl = tensor.impl();
  impl.base.reset();
  impl.dtype = elements.dtype();
  impl.strides = ghost::contiguous_strides(impl.sizes);
  impl.storage = elements.impl().storage;
}

}  // namespace memtape::deepspeed
