// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/llama_factory/trained_layers.h"

#include <algorithm>
#include <vector>

#include "nn/layers.h"
#include "workload/train_recipe.h"

namespace memtape::transformers::llama_factory {
namespace {

using ghost::Tensor;

/// hidden_states.requires_grad_(True)
class RequiresGrad final : public nn::ForwardHooks {
 public:
  void before_forward(Tensor&) override {}
  void after_forward(Tensor& output) override { output.impl().requires_grad = true; }
};

bool is_trained(const nn::ModuleNode& layer) {
  return std::ranges::any_of(nn::parameters(layer),
                             [](const Tensor& parameter) { return parameter.requires_grad(); });
}

}  // namespace

Result<std::unique_ptr<nn::ForwardHooks>> checkpoint_trained_layers(family::PretrainedModel& model,
                                                                    const TrainRecipe& recipe) {
  if (recipe.program.trained_layers == 0 || recipe.checkpointing == Checkpointing::none)
    return std::unique_ptr<nn::ForwardHooks>();
  if (recipe.program.trained_layers < 0)
    return unsupported("checkpointing the first layers alone is not modelled",
                       "--train-last-layers", "a number above 0, or no checkpointing");
  nn::ModuleNode* below = nullptr;
  const std::vector<nn::NamedModule> modules = nn::named_modules(model.tree.root());
  for (const nn::NamedModule& module : modules) {
    if (!module.node->is_layer) continue;
    if (is_trained(*module.node)) break;
    below = module.node;
  }
  if (!below) return std::unique_ptr<nn::ForwardHooks>();
  for (const nn::NamedModule& module : modules)
    if (module.node->embedding) module.node->embedding->output_requires_grad = false;
  std::unique_ptr<nn::ForwardHooks> hook = std::make_unique<RequiresGrad>();
  below->hooks.push_back(hook.get());
  return hook;
}

}  // namespace memtape::transformers::llama_factory
