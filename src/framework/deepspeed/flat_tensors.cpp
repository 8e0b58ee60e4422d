// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/flat_tensors.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"

namespace memtape::deepspeed {
namespace {

/// The parameters become pieces of the buffer.
void put_into(const Tensor& flat, const std::vector<Tensor>& parameters, const FlatLayout& layout) {
  for (std::size_t i = 0; i < parameters.size(); ++i)
    put_data(parameters[i], narrow(flat, layout.start(i), parameters[i].numel()));
}

}  // namespace

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

Tensor flatten_parameters(const std::vector<Tensor>& parameters, const FlatLayout& layout) {
  const DType dtype = parameters.front().dtype();
  std::vector<Tensor> padded;
  std::int64_t end = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    padded.push_back(parameters[i]);
    const std::int64_t padding = layout.padding(i);
    if (padding > 0) padded.push_back(ghost::zeros({padding}, dtype));
    end = layout.start(i) + parameters[i].numel() + padding;
  }
  if (end < layout.numel()) padded.push_back(ghost::zeros({layout.numel() - end}, dtype));
  Tensor flat = flatten(padded);
  ghost::session().set_category(flat, Category::parameter);
  padded.clear();
  put_into(flat, parameters, layout);
  return flat;
}

Tensor flatten_by_host(const std::vector<Tensor>& parameters, const FlatLayout& layout) {
  const ghost::GradMode no_grad(false);
  const DType dtype = parameters.front().dtype();
  for (const Tensor& parameter : parameters)  // param.data = torch.empty(1).to(param.device)
    parameter.impl().storage =
        ghost::empty({1}, DType::float32, Category::parameter).impl().storage;
  ghost::session().tape.empty_cache();
  const ghost::Op op("_to_copy", {});
  Tensor flat = ghost::empty({layout.numel()}, dtype, Category::parameter);
  put_into(flat, parameters, layout);
  return flat;
}

void put_data(const Tensor& tensor, const Tensor& elements) {
  ghost::TensorImpl& impl = tensor.impl();
  impl.base.reset();
  impl.dtype = elements.dtype();
  impl.strides = ghost::contiguous_strides(impl.sizes);
  impl.storage = elements.impl().storage;
}

}  // namespace memtape::deepspeed
