// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/built_parameters.h"

#include "family/pretrained.h"
#include "ghost/session.h"

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

family::Task family_task(TaskName task) {
  switch (task) {
    case TaskName::causal_lm: return family::Task::causal_lm;
    case TaskName::masked_lm: return family::Task::masked_lm;
    case TaskName::seq2seq_lm: return family::Task::seq2seq_lm;
    case TaskName::image_text_to_text: return family::Task::image_text_to_text;
    case TaskName::image_classification: return family::Task::image_classification;
    case TaskName::zero_shot_image_classification:
      return family::Task::zero_shot_image_classification;
    case TaskName::speech_seq2seq: return family::Task::speech_seq2seq;
    case TaskName::sequence_classification: return family::Task::sequence_classification;
    case TaskName::token_classification: return family::Task::token_classification;
    case TaskName::question_answering: return family::Task::question_answering;
    case TaskName::multiple_choice: return family::Task::multiple_choice;
  }
  return family::Task::causal_lm;
}

TaskName default_task(const Config& config) {
  const std::string model_type = config.text("model_type", "");
  for (const TaskName task : kTasks)
    for (const family::Family& family : family::families())
      if (family.model_type == model_type && family.task == family_task(task)) return task;
  return TaskName::causal_lm;
}

Result<std::vector<BuiltParameter>> built_parameters(const Config& config,
                                                     const TrainRecipe& recipe) {
  const Result<const family::Family*> family =
      family::find_family(config, family_task(recipe.task));
  if (!family) return tl::unexpected(family.error());
  ghost::Session session({});
  std::vector<BuiltParameter> parameters;
  const auto model = (*family)->build(
      config, {.dtype = recipe.parameter_dtype(), .task = family_task(recipe.task)});
  if (!model) return tl::unexpected(config.check().error());
  collect(model->tree.root(), "", parameters);
  session.finished = true;
  return parameters;
}

}  // namespace memtape::torch
