// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/built_parameters.h"

#include "family/registry.h"
#include "ghost/session.h"
#include "workload/train_recipe.h"

namespace memtape::torch {
namespace {

void collect(const nn::ModuleNode& node, const std::string& prefix,
             std::vector<BuiltParameter>& into) {
  for (const nn::ModuleNode::Named& parameter : node.parameters) {
    const ghost::Dims& sizes = parameter.tensor.sizes();
    into.push_back({prefix + parameter.name, {sizes.begin(), sizes.end()}});
  }
  for (const nn::ModuleNode* child : node.children)
    collect(*child, prefix + child->name + ".", into);
}

}  // namespace

Task default_task(const Config& config) {
  const family::FamilyFacts* const facts = family::facts_of(config);
  return facts ? facts->task : Task::causal_lm;
}

Result<std::vector<BuiltParameter>> built_parameters(const Config& config,
                                                     const TrainRecipe& recipe) {
  const Result<const family::FamilyFacts*> family = family::find_family(config, recipe.task);
  if (!family) return tl::unexpected(family.error());
  ghost::Session session({}, recipe.release);
  std::vector<BuiltParameter> parameters;
  const auto model =
      (*family)->build(config, {.dtype = recipe.parameter_dtype(), .task = recipe.task});
  if (!model) return tl::unexpected(config.check().error());
  collect(model->tree.root(), "", parameters);
  session.finished = true;
  return parameters;
}

}  // namespace memtape::torch
