// SPDX-License-Identifier: Apache-2.0
#include "time/built_model.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "family/registry.h"
#include "ghost/ops/creation.h"
#include "ghost/session.h"

namespace memtape::time {
namespace {

const ghost::Storage* storage_of(const ghost::Tensor& parameter) {
  return parameter.impl().storage.get();
}

constexpr std::int64_t kFewTokens = 256;

family::Batch batch_of(const family::PretrainedModel& model) {
  const family::SampleSizes sizes = model.sample_sizes(kFewTokens);
  const auto zeros = [](const std::optional<ghost::Dims>& sample, DType dtype) {
    if (!sample) return ghost::Tensor();
    ghost::Dims batch{1};
    for (const std::int64_t size : *sample) batch = batch.with(size);
    return ghost::zeros(batch, dtype, Category::input);
  };
  family::Batch batch;
  batch.pixel_values = zeros(sizes.pixel_values, model.tree.dtype());
  batch.input_features = zeros(sizes.input_features, model.tree.dtype());
  batch.input_ids = zeros(sizes.input_ids, DType::int64);
  batch.start_positions = batch.end_positions = zeros(sizes.positions, DType::int64);
  if (!sizes.positions) batch.labels = zeros(sizes.labels, DType::int64);
  return batch;
}

/// Sends a few tokens through the model. What cannot run says nothing of its attention.
void run_forward(family::PretrainedModel& model, family::AttentionCalls& calls) {
  const ghost::GradMode no_grad(false);
  model.forward(batch_of(model));
  if (ghost::session().error) calls.by_module.clear();
}

/// Walks the modules in the order in which they were registered.
class Reading {
 public:
  Reading(family::PretrainedModel& model, const family::AttentionCalls& calls)
      : output_name_(model.output_embeddings()), calls_(calls) {
    visit(model.tree.root(), {});
    built_.has_own_head = output_ && !embeddings_.contains(output_);
    built_.windows = model.sliding_windows();
  }

  BuiltModel built() && { return std::move(built_); }

 private:
  /// What the module and those below it add to the matrices of the layer they lie in.
  BuiltLayer visit(const nn::ModuleNode& node, const std::string& name) {
    BuiltLayer all;
    if (const auto call = calls_.by_module.find(node.scope); call != calls_.by_module.end())
      all.attention = call->second;
    for (const nn::ModuleNode::Named& parameter : node.parameters) {
      const ghost::Storage* const storage = storage_of(parameter.tensor);
      if (node.embedding) embeddings_.insert(storage);
      if (name == output_name_ && parameter.name == "weight") output_ = storage;
      if (!seen_.insert(storage).second) continue;
      built_.parameters += parameter.tensor.numel();
      if (parameter.tensor.dim() > 1) all.matrices += parameter.tensor.numel();
    }
    std::vector<BuiltLayer> stack;
    for (const nn::ModuleNode* child : node.children) {
      const BuiltLayer below = visit(*child, name.empty() ? child->name : name + "." + child->name);
      if (child->is_layer) stack.push_back(below);
      all.matrices += below.matrices;
      if (!all.attention) all.attention = below.attention;
    }
    if (!stack.empty()) built_.stacks.push_back(std::move(stack));
    return all;
  }

  const std::string output_name_;
  const family::AttentionCalls& calls_;
  BuiltModel built_;
  std::unordered_set<const ghost::Storage*> seen_, embeddings_;
  const ghost::Storage* output_ = nullptr;
};

/// A copy whose record of failures is its own.
Result<Config> copy_of(const Config& config) {
  return Config::parse(config.json(), config.where());
}

}  // namespace

const std::vector<BuiltLayer>* BuiltModel::stack_of(std::int64_t layers) const {
  const auto found = std::find_if(stacks.rbegin(), stacks.rend(), [layers](const auto& stack) {
    return static_cast<std::int64_t>(stack.size()) == layers;
  });
  return found == stacks.rend() ? nullptr : &*found;
}

Result<BuiltModel> built_model(const Config& config, family::Task task, const Release& release) {
  const Result<Config> copy = copy_of(config);
  if (!copy) return tl::unexpected(copy.error());
  const auto family = family::find_family(*copy, task);
  if (!family) return tl::unexpected(family.error());
  ghost::Session session({}, release);
  const auto model = (*family)->build(*copy, {.task = task});
  if (!model) {
    session.finished = true;
    return tl::unexpected(copy->check().error());
  }
  family::AttentionCalls calls;
  run_forward(*model, calls);
  session.finished = true;
  BuiltModel built = Reading(*model, calls).built();
  if (is_classification(task)) built.has_own_head = false;
  return built;
}

Result<BuiltModel> built_model(const Config& config) {
  const family::FamilyFacts* const facts = family::facts_of(config);
  return built_model(config, facts ? facts->task : family::Task::causal_lm, {});
}

}  // namespace memtape::time
