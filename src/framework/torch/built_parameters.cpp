// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/built_parameters.h"

#include <unordered_map>
#include <utility>

#include "family/named_head.h"
#include "family/registry.h"
#include "ghost/session.h"
#include "workload/train_recipe.h"

namespace memtape::torch {
namespace {

class Collection {
 public:
  explicit Collection(const nn::ModuleNode& root) { add(root, ""); }
  std::vector<BuiltParameter> parameters() && { return std::move(parameters_); }

 private:
  void add(const nn::ModuleNode& node, const std::string& prefix) {
    for (const nn::ModuleNode::Named& parameter : node.parameters) {
      const ghost::Dims& sizes = parameter.tensor.sizes();
      const ghost::Storage* const storage = parameter.tensor.impl().storage.get();
      parameters_.push_back({prefix + parameter.name, {sizes.begin(), sizes.end()}});
      if (storage) tie(storage, {parameters_.size() - 1, node.embedding != nullptr});
    }
    for (const nn::ModuleNode* child : node.children) add(*child, prefix + child->name + ".");
  }

  /// Of parameters that are one matrix, checkpoints store the embedding's, else the first.
  struct Stored {
    std::size_t index;
    bool is_embedding;
  };
  void tie(const ghost::Storage* storage, Stored added) {
    const auto [found, is_new] = stored_.try_emplace(storage, added);
    if (is_new) return;
    Stored& stored = found->second;
    if (added.is_embedding && !stored.is_embedding) std::swap(stored, added);
    parameters_[added.index].is_tied = true;
  }

  std::vector<BuiltParameter> parameters_;
  std::unordered_map<const ghost::Storage*, Stored> stored_;
};

}  // namespace

Task default_task(const Config& config) {
  if (const auto head = family::named_head(config)) return head->task;
  const family::FamilyFacts* const facts = family::facts_of(config);
  return facts ? facts->task : Task::causal_lm;
}

Result<std::vector<BuiltParameter>> built_parameters(const Config& config,
                                                     const TrainRecipe& recipe) {
  const Result<const family::FamilyFacts*> family = family::find_family(config, recipe.task);
  if (!family) return tl::unexpected(family.error());
  ghost::Session session({}, recipe.release);
  const auto model =
      (*family)->build(config, {.dtype = recipe.parameter_dtype(), .task = recipe.task});
  if (!model) return tl::unexpected(config.check().error());
  session.finished = true;
  return Collection(model->tree.root()).parameters();
}

}  // namespace memtape::torch
