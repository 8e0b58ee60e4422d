// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/low_rank/create.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/pattern.h"
#include "base/text.h"
#include "framework/torch/optimizer_in_backward.h"
#include "framework/transformers/arguments/optim_arguments.h"
#include "framework/transformers/low_rank/galore_adafactor.h"
#include "framework/transformers/low_rank/galore_adamw.h"
#include "framework/transformers/low_rank/galore_adamw_8bit.h"
#include "framework/transformers/trainer_recipe.h"
#include "nn/layers.h"

namespace memtape::transformers {
namespace {

/// check_target_module_exists, and "all-linear".
bool is_target(const LowRankRecipe& recipe, std::string_view module) {
  if (recipe.is_one_pattern) {
    const std::string& pattern = recipe.target_modules.front();
    return pattern == "all-linear" || pattern == "all_linear" ||
           full_match(pattern, module).value_or(false);
  }
  return std::ranges::any_of(recipe.target_modules, [&](const std::string& target) {
    return module.find(target) != std::string_view::npos ||
           full_match(target, module).value_or(false);
  });
}

/// The names of the weights of nn.Linear that are targets.
std::vector<std::string> target_names(family::PretrainedModel& model, const LowRankRecipe& recipe) {
  std::vector<std::string> names;
  for (const nn::NamedModule& module : nn::named_modules(model.tree.root()))
    if (dynamic_cast<nn::Linear*>(module.node->projection) && is_target(recipe, module.name))
      names.push_back(module.name + ".weight");
  return names;
}

struct Split {
  torch::TensorList parameters;  ///< targets last
  std::size_t first_target = 0;
};

Split split(family::PretrainedModel& model, const std::vector<std::string>& targets) {
  Split split;
  torch::TensorList targeted;
  for (const nn::ModuleNode::Named& p : nn::named_parameters(model.tree.root())) {
    if (!p.tensor.requires_grad()) continue;
    const bool is_targeted = std::ranges::find(targets, p.name) != targets.end();
    (is_targeted ? targeted : split.parameters).push_back(p.tensor);
  }
  split.first_target = split.parameters.size();
  split.parameters.insert(split.parameters.end(), targeted.begin(), targeted.end());
  return split;
}

std::unique_ptr<torch::Optimizer> make(const TrainerRecipe& recipe, torch::TensorList parameters,
                                       std::size_t first_target) {
  const LowRankRecipe& low_rank = recipe.low_rank;
  if (recipe.optim.starts_with("apollo_"))
    return std::make_unique<ApolloAdamW>(std::move(parameters), first_target, low_rank);
  if (recipe.optim.starts_with("galore_adafactor"))
    return std::make_unique<GaloreAdafactor>(std::move(parameters), first_target, low_rank);
  if (recipe.optim.starts_with("galore_adamw_8bit"))
    return std::make_unique<GaloreAdamW8bit>(std::move(parameters), first_target, low_rank);
  return std::make_unique<GaloreAdamW>(std::move(parameters), first_target, low_rank);
}

}  // namespace

std::unique_ptr<torch::Optimizer> create_low_rank(const TrainerRecipe& recipe,
                                                  family::PretrainedModel& model) {
  const std::vector<std::string> targets = target_names(model, recipe.low_rank);
  if (targets.empty())
    ghost::session().fail({ErrorKind::bad_input, "no linear layer of the model is a target",
                           "--optim_target_modules", "[\"attn\", \"mlp\"], or all-linear"});
  const Split parts = split(model, targets);
  if (!is_layerwise(recipe)) return make(recipe, parts.parameters, parts.first_target);
  return std::make_unique<torch::OptimizerInBackward>(parts.parameters, [&](std::size_t place) {
    return make(recipe, {parts.parameters[place]}, place < parts.first_target ? 1 : 0);
  });
}

Result<void> check_low_rank(const TrainRecipe& recipe) {
  const TrainerRecipe& trainer = trainer_of(recipe);
  if (!is_low_rank(trainer)) return {};
  if (trainer.low_rank.target_modules.empty())
    return bad_input("Trainer refuses " + trainer.optim + " without it", "--optim_target_modules",
                     "[\"attn\", \"mlp\"], or all-linear");
  if (is_layerwise(trainer) && recipe.gradient_accumulation != 1)
    return bad_input("layerwise optimizers take no accumulation", "--gradient_accumulation_steps",
                     "1");
  if (trainer.optim == "galore_adafactor_layerwise")
    return bad_input("galore-torch's Adafactor refuses what Trainer 5.17 gives it layer by layer",
                     "--optim", "galore_adafactor");
  if (trainer.optim.starts_with("apollo_") &&
      trainer.low_rank.proj_type == LowRankRecipe::Side::full)
    return bad_input("APOLLO has no projection from both sides", "--optim_args",
                     "proj_type=std, reverse_std, left or right");
  if (recipe.lora)
    return unsupported(trainer.optim + " over adapters is not modelled", "--optim",
                       "adamw_torch_fused");
  return {};
}

}  // namespace memtape::transformers
