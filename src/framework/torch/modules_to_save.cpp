// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/modules_to_save.h"

#include <algorithm>
#include <string_view>

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

/// Whether it is a module whose name ends with one of `names`, or within such a one:
/// _set_trainable asks for no dot before it, so DistilBERT's pre_classifier is a classifier, too.
bool is_within_one(const std::vector<std::string>& names, std::string_view module) {
  for (std::size_t end = module.find('.');; end = module.find('.', end + 1)) {
    const std::string_view outer = module.substr(0, end);
    if (std::ranges::any_of(names, [&](const std::string& name) { return outer.ends_with(name); }))
      return true;
    if (end == std::string_view::npos) return false;
  }
}

}  // namespace

Result<void> save_modules(family::PretrainedModel& model, const std::vector<std::string>& names) {
  if (names.empty()) return {};
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

Result<void> save_task_heads(family::PretrainedModel& model,
                             const std::vector<std::string>& names) {
  if (names.empty()) return {};
  for (const NamedModule& module : nn::named_modules(model.tree.root())) {
    const nn::Projection* layer = module.node->projection;
    if (!layer || !is_within_one(names, module.name)) continue;
    if (layer->adapter)
      return bad_input("\"" + module.name + "\" has an adapter, and task_type trains it whole",
                       "--peft", "target_modules that leave it out");
    const bool is_wrapped = module.node->parameters.empty();
    if (!is_wrapped) wrap(model.tree, *module.node);
  }
  return {};
}

}  // namespace memtape::torch
