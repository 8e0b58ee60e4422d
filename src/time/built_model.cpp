// SPDX-License-Identifier: Apache-2.0
#include "time/built_model.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "family/registry.h"
#include "ghost/session.h"

namespace memtape::time {
namespace {

const ghost::Storage* storage_of(const ghost::Tensor& parameter) {
  return parameter.impl().storage.get();
}

/// Walks the modules in the order in which they were registered.
class Reading {
 public:
  explicit Reading(family::PretrainedModel& model) : output_name_(model.output_embeddings()) {
    visit(model.tree.root(), {});
    built_.has_own_head = output_ && !embeddings_.contains(output_);
  }

  BuiltModel built() && { return std::move(built_); }

 private:
  /// What the module and those below it add to the matrices of the layer they lie in.
  std::int64_t visit(const nn::ModuleNode& node, const std::string& name) {
    std::int64_t matrices = 0;
    for (const nn::ModuleNode::Named& parameter : node.parameters) {
      const ghost::Storage* const storage = storage_of(parameter.tensor);
      if (node.embedding) embeddings_.insert(storage);
      if (name == output_name_ && parameter.name == "weight") output_ = storage;
      if (!seen_.insert(storage).second) continue;
      built_.parameters += parameter.tensor.numel();
      if (parameter.tensor.dim() > 1) matrices += parameter.tensor.numel();
    }
    std::vector<std::int64_t> stack;
    for (const nn::ModuleNode* child : node.children) {
      const std::int64_t below =
          visit(*child, name.empty() ? child->name : name + "." + child->name);
      if (child->is_layer) stack.push_back(below);
      matrices += below;
    }
    if (!stack.empty()) built_.stacks.push_back(std::move(stack));
    return matrices;
  }

  const std::string output_name_;
  BuiltModel built_;
  std::unordered_set<const ghost::Storage*> seen_, embeddings_;
  const ghost::Storage* output_ = nullptr;
};

/// A copy whose record of failures is its own.
Result<Config> copy_of(const Config& config) {
  return Config::parse(config.json(), config.where());
}

}  // namespace

const std::vector<std::int64_t>* BuiltModel::stack_of(std::int64_t layers) const {
  const auto found = std::ranges::find_if(stacks, [layers](const auto& stack) {
    return static_cast<std::int64_t>(stack.size()) == layers;
  });
  return found == stacks.end() ? nullptr : &*found;
}

Result<BuiltModel> built_model(const Config& config, family::Task task, const Release& release) {
  const Result<Config> copy = copy_of(config);
  if (!copy) return tl::unexpected(copy.error());
  const auto family = family::find_family(*copy, task);
  if (!family) return tl::unexpected(family.error());
  ghost::Session session({}, release);
  const auto model = (*family)->build(*copy, {.task = task});
  session.finished = true;
  if (!model) return tl::unexpected(copy->check().error());
  BuiltModel built = Reading(*model).built();
  if (is_classification(task)) built.has_own_head = false;
  return built;
}

Result<BuiltModel> built_model(const Config& config) {
  Result<BuiltModel> built = tl::unexpected(Error{});
  for (const family::Task task : family::kTasks)
    if (built = built_model(config, task, {}); built) break;
  return built;
}

}  // namespace memtape::time
