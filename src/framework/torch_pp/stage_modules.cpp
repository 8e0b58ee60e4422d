// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_pp/stage_modules.h"

#include "framework/torch/freeze.h"
#include "framework/torch/model_setup.h"
#include "ghost/autograd/node.h"
#include "model/type_of.h"

namespace memtape::torch_pp {
namespace {

using ghost::Tensor;

/// empty_like(tensor, device="cuda") in the tensor's place: what it had before goes afterwards.
void give_memory(const Tensor& tensor, Category category) {
  const ghost::Op op("empty_like", {});
  tensor.impl().storage =
      ghost::session().allocate(tensor.nbytes(), category, tensor.dtype(), tensor.sizes());
}

/// Module._apply: children first, then parameters, then buffers.
void to_empty(const nn::ModuleNode& module) {
  for (const nn::ModuleNode* child : module.children) to_empty(*child);
  const ghost::ScopeGuard scope(module.scope);
  for (const auto& parameter : module.parameters)
    give_memory(parameter.tensor, Category::parameter);
  for (const auto& buffer : module.buffers) give_memory(buffer.tensor, Category::buffer);
}

/// The head's weight as a parameter of its own where it was the embedding's.
void untie(family::StageParts& parts) {
  nn::Linear& head = parts.head();
  if (head.weight.ptr().get() != parts.embedding()->weight.ptr().get()) return;
  Tensor weight = ghost::empty(head.weight.sizes(), head.weight.dtype(), Category::parameter);
  weight.impl().requires_grad = head.weight.requires_grad();
  nn::replace_weight(head, weight);
}

}  // namespace

Result<std::unique_ptr<family::PretrainedModel>> model_without_memory(const Config& config,
                                                                      const TrainRecipe& recipe) {
  const ghost::HostGuard meta(true);
  auto model = torch::new_model(config, recipe);
  if (!model) return model;
  family::StageParts* const parts = (*model)->stage_parts();
  if (!parts || !parts->can_be_cut())
    return unsupported("\"" + type_of(config) + "\" is not cut into stages", "--framework torch-pp",
                       "a plain stack of decoder layers such as llama");
  untie(*parts);
  if (!recipe.freeze.empty())
    torch::freeze(nn::named_parameters((*model)->tree.root()), recipe.freeze);
  if (recipe.checkpointing != Checkpointing::none)
    (*model)->tree.gradient_checkpointing = recipe.checkpointing == Checkpointing::full_reentrant
                                                ? nn::GradientCheckpointing::reentrant
                                                : nn::GradientCheckpointing::non_reentrant;
  return model;
}

void to_empty(const std::vector<const nn::ModuleNode*>& modules) {
  for (const nn::ModuleNode* module : modules) to_empty(*module);
}

}  // namespace memtape::torch_pp
