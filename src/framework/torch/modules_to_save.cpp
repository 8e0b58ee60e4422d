// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/modules_to_save.h"

#include <algorithm>

#include "base/text.h"
#include "framework/torch/lora_targets.h"
#include "nn/layers.h"

namespace memtape::torch {
namespace {

using ghost::Tensor;
using nn::ModuleNode;
using nn::NamedModule;

/// copy.deepcopy of a parameter.
Tensor trainable_copy(const Tensor& parameter) {
  const ghost::GradMode no_grad(false);
  Tensor copy = parameter.clone();
  copy.impl().requires_grad = true;
  ghost::session().set_category(copy, Category::parameter);
  return copy;
}

/// The module goes on with the copies; the originals stay with a module of their own.
void wrap(nn::ModuleTree& tree, ModuleNode& node) {
  ModuleNode& original = tree.add(node, "original_module");
  original.parameters = std::move(node.parameters);
  node.parameters.clear();
  const nn::Scope scope = nn::Scope(tree, node) / "modules_to_save" / "default";
  const ghost::ScopeGuard guard(scope.node().scope);
  for (const ModuleNode::Named& p : original.parameters) {
    const Tensor copy = trainable_copy(p.tensor);
    scope.node().parameters.push_back({p.name, copy});
    if (node.projection)
      (p.name == "bias" ? node.projection->bias : node.projection->weight) = copy;
    if (node.embedding) node.embedding->weight = copy;
  }
}

}  // namespace

Result<void> save_modules(family::PretrainedModel& model, const std::vector<std::string>& names) {
  std::vector<bool> found(names.size(), false);
  for (const NamedModule& module : nn::named_modules(model.tree.root())) {
    bool wanted = false;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names_module(names[i], module.name)) wanted = found[i] = true;
    if (!wanted) continue;
    if (!module.node->projection && !module.node->embedding)
      return unsupported("\"" + module.name + "\" as one of modules_to_save is not modelled",
                         "--peft", "linear layers and embeddings are");
    wrap(model.tree, *module.node);
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!found[i])
      return bad_input("no module of the model is called \"" + names[i] + "\"", "--peft",
                       "modules_to_save: linear layers and embeddings");
  return {};
}

}  // namespace memtape::torch
