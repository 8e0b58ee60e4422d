// SPDX-License-Identifier: Apache-2.0
#include "nn/module.h"

#include <unordered_set>

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "nn/module_init.h"

namespace memtape::nn {

namespace {

/// `path` is the module's own name with a dot behind it, and the same again afterwards.
void collect_parameters(const ModuleNode& node, std::string& path,
                        std::unordered_set<const ghost::TensorImpl*>& seen,
                        std::vector<ModuleNode::Named>& found) {
  for (const ModuleNode::Named& parameter : node.parameters)
    if (seen.insert(parameter.tensor.ptr().get()).second)
      found.push_back({path + parameter.name, parameter.tensor});
  const std::size_t own = path.size();
  for (const ModuleNode* child : node.children) {
    path.append(child->name).push_back('.');
    collect_parameters(*child, path, seen, found);
    path.resize(own);
  }
}

void collect_parameters(const ModuleNode& node, std::unordered_set<const ghost::TensorImpl*>& seen,
                        std::vector<Tensor>& found) {
  for (const ModuleNode::Named& parameter : node.parameters)
    if (seen.insert(parameter.tensor.ptr().get()).second) found.push_back(parameter.tensor);
  for (const ModuleNode* child : node.children) collect_parameters(*child, seen, found);
}

void collect_modules(ModuleNode& node, std::string& path, std::vector<NamedModule>& found) {
  const std::size_t own = path.size();
  for (ModuleNode* child : node.children) {
    found.push_back({path.append(child->name), child});
    path.push_back('.');
    collect_modules(*child, path, found);
    path.resize(own);
  }
}

}  // namespace

std::vector<ModuleNode::Named> named_parameters(const ModuleNode& root, std::string prefix) {
  std::unordered_set<const ghost::TensorImpl*> seen;
  std::vector<ModuleNode::Named> found;
  collect_parameters(root, prefix, seen, found);
  return found;
}

std::vector<Tensor> parameters(const ModuleNode& root) {
  std::unordered_set<const ghost::TensorImpl*> seen;
  std::vector<Tensor> found;
  collect_parameters(root, seen, found);
  return found;
}

std::vector<NamedModule> named_modules(ModuleNode& root) {
  std::vector<NamedModule> found;
  std::string path;
  collect_modules(root, path, found);
  return found;
}

ModuleTree::ModuleTree(DType parameter_dtype) : dtype_(parameter_dtype) {
  nodes_.push_back(std::make_unique<ModuleNode>());
}

ModuleTree::~ModuleTree() = default;

ModuleNode& ModuleTree::add(ModuleNode& parent, std::string name) {
  auto node = std::make_unique<ModuleNode>();
  node->scope = ghost::session().tape.scopes.add(parent.scope, name);
  node->name = std::move(name);
  parent.children.push_back(node.get());
  if (ModuleInit* const init = ghost::given_here<ModuleInit>()) init->begin(parent, *node);
  nodes_.push_back(std::move(node));
  return *nodes_.back();
}

Tensor Scope::parameter(std::string_view name, const Dims& sizes) const {
  return parameter(name, sizes, dtype());
}

Tensor Scope::parameter(std::string_view name, const Dims& sizes, DType dtype) const {
  ModuleInit* const init = ghost::given_here<ModuleInit>();
  if (init) init->go_on(*node_);
  const ghost::ScopeGuard guard(node_->scope);
  const ghost::Op op("empty", {});
  Tensor weight =
      init ? init->empty(sizes, dtype) : ghost::empty(sizes, dtype, Category::parameter);
  weight.impl().requires_grad = is_floating_point(dtype);
  node_->parameters.push_back({std::string(name), weight});
  return weight;
}

void Scope::buffer(std::string_view name, const Tensor& tensor) const {
  ghost::session().set_category(tensor, Category::buffer);
  node_->buffers.push_back({std::string(name), tensor});
}

}  // namespace memtape::nn
