// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/model_setup.h"

#include <unordered_set>

#include "family/parts/classifiers.h"
#include "family/registry.h"
#include "framework/torch/built_parameters.h"
#include "framework/torch/float_draws.h"
#include "framework/torch/freeze.h"
#include "framework/torch/gradient_checkpointing.h"
#include "framework/torch/lora.h"
#include "ghost/given.h"
#include "release/transformers_4_changes.h"
#include "release/transformers_changes.h"

namespace memtape::torch {
namespace {

using ghost::Tensor;
using nn::ModuleNode;

family::AttentionImplementation attention_of(AttentionChoice choice) {
  if (choice == AttentionChoice::eager) return family::AttentionImplementation::eager;
  return choice == AttentionChoice::flash ? family::AttentionImplementation::flash
                                          : family::AttentionImplementation::sdpa;
}

/// With what classifiers are told beside; a reward model is one of a single class.
family::ModelOptions classifier_options(const Config& config, const family::FamilyFacts& facts,
                                        const TrainRecipe& recipe, Purpose purpose,
                                        family::ModelOptions options) {
  const bool is_reward = recipe.trl == TrlTrainer::reward;
  options.task = is_reward ? family::Task::sequence_classification : recipe.task;
  if (!family::is_classification(options.task)) return options;
  options = family::with_classifier(config, facts, options);
  if (recipe.num_labels) options.num_labels = *recipe.num_labels;
  if (is_reward) options.num_labels = 1;
  const bool trains = purpose == Purpose::training;
  if (trains && options.num_labels == 1 && options.task != family::Task::sequence_classification)
    config.fail("num_labels", "tokens of one class teach nothing, must be 2 or more");
  return options;
}

void count_buffers(const ModuleNode& node, StaticBytes& statics) {
  for (const ModuleNode::Named& b : node.buffers) statics.buffer_bytes += b.tensor.nbytes();
  for (const ModuleNode* child : node.children) count_buffers(*child, statics);
}

/// The model that `build` makes, its first weights drawn as this release does. Where a library wraps
/// __init__ already (zero.Init), its hooks stay alone.
template <class Build>
std::unique_ptr<family::PretrainedModel> drawn(std::string_view model_type, const Build& build) {
  if (!ghost::has(changes::kDrawsInFloat) || ghost::has(changes::kDrawsInPlaceAgain) ||
      !draws_as_all_do(model_type) || ghost::given_here<nn::ModuleInit>())
    return build();
  FloatDraws draws;
  const nn::ModuleInitInForce in_force(draws);
  return build();
}

}  // namespace

Result<std::unique_ptr<family::PretrainedModel>> new_model(const Config& config,
                                                           const TrainRecipe& recipe,
                                                           Purpose purpose) {
  const Result<const family::FamilyFacts*> family = family::find_family(config, recipe.task);
  if (!family) return tl::unexpected(family.error());
  if (const auto there = family::check_is_there(**family, recipe.release); !there)
    return tl::unexpected(there.error());
  std::unique_ptr<family::PretrainedModel> model = drawn((*family)->model_type, [&] {
    return (*family)->build(config, classifier_options(config, **family, recipe, purpose,
                                                       {.dtype = recipe.parameter_dtype(),
                                                        .attention = attention_of(recipe.attention),
                                                        .expert_load = recipe.expert_load}));
  });
  if (!model) return tl::unexpected(config.check().error());
  model->model_type = (*family)->model_type;
  return model;
}

family::SampleSizes sample_sizes(const family::PretrainedModel& model, const TrainRecipe& recipe) {
  family::SampleSizes sizes = model.sample_sizes(recipe.sequence_length);
  if (recipe.target_length && recipe.task == Task::seq2seq_lm)
    sizes.labels = ghost::Dims{*recipe.target_length};
  return sizes;
}

Result<void> adapt_model(family::PretrainedModel& model, const TrainRecipe& recipe,
                         const Config& config) {
  if (recipe.lora)
    if (const Result<void> added = add_lora(model, *recipe.lora, *family::facts_of(config)); !added)
      return added;
  if (!recipe.freeze.empty())
    if (const Result<void> frozen = freeze(
            nn::named_parameters(model.tree.root(), std::string(recipe.lora ? kPeftPrefix : "")),
            recipe.freeze);
        !frozen)
      return frozen;
  if (recipe.program.trained_layers != 0) {
    const auto parameters = nn::named_parameters(model.tree.root());
    train_layers_alone(parameters, recipe.program.trained_layers,
                       config.integer("num_hidden_layers", config.integer("n_layer", 0)));
    if (recipe.program.upcasts_trained) upcast_trained(parameters);
  }
  if (!recipe.freeze.empty() && trainable_parameters(model).empty())
    return bad_input("no parameter is left to train", "--freeze", "a pattern that leaves some");
  const bool keeps_graph = recipe.release.has(changes::kCheckpointsKeepTheGraph);
  if (recipe.checkpointing == Checkpointing::full)
    enable_gradient_checkpointing(model, keeps_graph ? nn::GradientCheckpointing::non_reentrant
                                                     : nn::GradientCheckpointing::reentrant);
  if (recipe.checkpointing == Checkpointing::full_reentrant)
    enable_gradient_checkpointing(model, nn::GradientCheckpointing::reentrant);
  return {};
}

Result<std::unique_ptr<family::PretrainedModel>> build_model(const Config& config,
                                                             const TrainRecipe& recipe) {
  auto model = new_model(config, recipe);
  if (!model) return model;
  if (const Result<void> ready = adapt_model(**model, recipe, config); !ready)
    return tl::unexpected(ready.error());
  return model;
}

std::vector<Tensor> trainable_parameters(family::PretrainedModel& model) {
  std::vector<Tensor> parameters = nn::parameters(model.tree.root());
  std::erase_if(parameters, [](const Tensor& p) { return !p.requires_grad(); });
  return parameters;
}

StaticBytes count_statics(family::PretrainedModel& model) {
  StaticBytes statics;
  std::unordered_set<const ghost::Storage*> seen;
  for (const Tensor& p : nn::parameters(model.tree.root())) {
    const ghost::Storage* const storage = p.impl().storage.get();
    if (storage && !seen.insert(storage).second) continue;
    statics.parameters += p.numel();
    statics.parameter_bytes += p.nbytes();
    if (p.requires_grad()) statics.trainable_parameters += p.numel();
  }
  count_buffers(model.tree.root(), statics);
  statics.weight_bytes = statics.parameter_bytes;
  return statics;
}

Bytes gradient_bytes(const std::vector<Tensor>& parameters) {
  Bytes bytes = 0;
  for (const Tensor& p : parameters)
    if (p.impl().grad) bytes += p.grad().nbytes();
  return bytes;
}

}  // namespace memtape::torch
