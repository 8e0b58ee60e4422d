// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/init_device.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/session.h"
#include "release/trainer_changes.h"
#include "workload/train_recipe.h"

namespace memtape::torch {
namespace {

using nn::ModuleNode;

/// tensor.data = tensor.to("cuda"), of what is not there.
void move(const std::vector<ModuleNode::Named>& tensors, const ModuleNode& holder,
          Category category) {
  const ghost::GradMode no_grad(false);
  const ghost::ScopeGuard scope(holder.scope);
  for (const ModuleNode::Named& named : tensors) {
    const ghost::Tensor& tensor = named.tensor;
    if (tensor.impl().storage) continue;
    const ghost::Op op("_to_copy", {});
    const ghost::Tensor there = ghost::empty(tensor.sizes(), tensor.dtype(), category);
    tensor.impl().storage = there.impl().storage;
  }
}

}  // namespace

InitDevice init_device(const TrainRecipe& recipe) {
  if (recipe.init_device) return *recipe.init_device;
  const bool leaves_gpu =
      !recipe.quantization || (recipe.release.has(changes::kQuantizedBaseLeavesUnderFsdp) &&
                               !recipe.release.has(changes::kQuantizedBaseStaysUnderFsdp));
  const bool cuts_what_was_loaded = recipe.loads_on_host && recipe.layout.gpus > 1 && leaves_gpu;
  return cuts_what_was_loaded ? InitDevice::cpu : InitDevice::cuda;
}

void move_to_device(const ModuleNode& root) {
  for (const ModuleNode* child : root.children) move_to_device(*child);
  move(root.parameters, root, Category::parameter);
  move_buffers_to_device(root);
}

void move_states_to_device(const std::vector<const ModuleNode*>& modules) {
  for (const ModuleNode* module : modules) move(module->parameters, *module, Category::parameter);
  for (const ModuleNode* module : modules) move_buffers_to_device(*module);
}

void move_buffers_to_device(const ModuleNode& module) {
  move(module.buffers, module, Category::buffer);
}

}  // namespace memtape::torch
