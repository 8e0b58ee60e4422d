// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/materialize.h"

#include "ghost/autograd/node.h"
#include "ghost/session.h"

namespace memtape::torch {

void to_device(const ghost::Tensor& tensor, Category category) {
  ghost::TensorImpl& impl = tensor.impl();
  if (impl.storage || ghost::numel(impl.sizes) == 0) return;
  const ghost::Op op("_to_copy", {});
  impl.storage =
      ghost::empty_strided(impl.sizes, impl.strides, impl.dtype, category).impl().storage;
}

void to_device(nn::ModuleNode& module) {
  for (nn::ModuleNode* child : module.children) to_device(*child);
  const ghost::ScopeGuard scope(module.scope);
  for (const nn::ModuleNode::Named& parameter : module.parameters)
    to_device(parameter.tensor, Category::parameter);
  for (const nn::ModuleNode::Named& buffer : module.buffers)
    to_device(buffer.tensor, Category::buffer);
}

}  // namespace memtape::torch
