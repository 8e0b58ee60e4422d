// SPDX-License-Identifier: Apache-2.0
#include "nn/layer_stack.h"

namespace memtape::nn {
namespace {

void collect(const ModuleNode& node, ghost::EqualLayers::Layer& parts) {
  parts.scopes.push_back(node.scope);
  for (const ModuleNode::Named& parameter : node.parameters)
    parts.parameters.push_back(parameter.tensor);
  for (const ModuleNode* child : node.children) collect(*child, parts);
}

}  // namespace

ghost::EqualLayers::Layer own_parts(std::span<const ModuleNode* const> modules) {
  ghost::EqualLayers::Layer parts;
  for (const ModuleNode* module : modules) collect(*module, parts);
  return parts;
}

}  // namespace memtape::nn
