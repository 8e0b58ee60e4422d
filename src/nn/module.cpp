// SPDX-License-Identifier: Apache-2.0
#include "nn/module.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"

namespace memtape::nn {

ModuleTree::ModuleTree(DType parameter_dtype) : dtype_(parameter_dtype) {
  nodes_.push_back(std::make_unique<ModuleNode>());
}

ModuleTree::~ModuleTree() = default;

ModuleNode& ModuleTree::add(ModuleNode& parent, std::string name) {
  auto node = std::make_unique<ModuleNode>();
  node->scope = ghost::session().tape.scopes.add(parent.scope, name);
  node->name = std::move(name);
  parent.children.push_back(node.get());
  nodes_.push_back(std::move(node));
  return *nodes_.back();
}

Tensor Scope::parameter(std::string_view name, const Dims& sizes) const { return parameter(name, sizes, dtype()); }

Tensor Scope::parameter(std::string_view name, const Dims& sizes, DType dtype) const {
  const ghost::ScopeGuard guard(node_->scope);
  const ghost::Op op("empty", {});
  Tensor weight = ghost::empty(sizes, dtype, Category::parameter);
  weight.impl().requires_grad = is_floating_point(dtype);
  node_->parameters.push_back({std::string(name), weight});
  return weight;
}

void Scope::buffer(std::string_view name, const Tensor& tensor) const {
  ghost::session().set_category(tensor, Category::buffer);
  node_->buffers.push_back({std::string(name), tensor});
}

}  // namespace memtape::nn
