// SPDX-License-Identifier: Apache-2.0
// What the dialects of several frameworks have in common: tasks, packages, what a model's
// configuration decides in a recipe, how a plan is handed to a program, and ranks that run alike.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "framework/torch/dialect.h"

namespace memtape::torch {

/// All tasks for which families have a loss: first those of text, then encoder-decoders, then
/// classifiers of text, and then the others.
inline constexpr auto kAllTasks = std::to_array<family::Task>(
    {family::Task::causal_lm, family::Task::masked_lm, family::Task::image_text_to_text,
     family::Task::seq2seq_lm, family::Task::sequence_classification,
     family::Task::token_classification, family::Task::question_answering,
     family::Task::multiple_choice, family::Task::image_classification,
     family::Task::zero_shot_image_classification, family::Task::speech_seq2seq});
/// Decoders and encoders of text, whose tokens and labels have one length.
inline constexpr std::span kTextTasks = std::span(kAllTasks).first(3);
/// These and encoder-decoders.
inline constexpr std::span kLanguageTasks = std::span(kAllTasks).first(4);
/// These and classifiers of text.
inline constexpr std::span kTasksWithClasses = std::span(kAllTasks).first(8);

// Options for which several frameworks have no use.
inline constexpr AbsentOption kNoSchedule{"schedule", "pipeline schedule",
                                          "--framework torch-pp or megatron-core"};
inline constexpr AbsentOption kNoOffload{"offload", "offloading that is modelled",
                                         "--framework deepspeed, fsdp1 or fsdp2"};
inline constexpr AbsentOption kNoInitDevice{"init-device", "choice of where its model is made"};
inline constexpr AbsentOption kNoFreezing{"freeze", "parameters frozen by name"};
inline constexpr AbsentOption kNoTrainedLayers{"train-last-layers", "layers that are not trained"};
inline constexpr AbsentOption kNoUpcasting{"upcast-trained", "layers that are not trained"};

/// The packages torch and transformers, and peft if there are adapters.
std::vector<Package> packages_of_families(const TrainRecipe& recipe);

/// If nobody names a length, it is at most as many tokens as the model has positions.
TrainRecipe with_length_of_model(TrainRecipe recipe, const Config& config);
/// If nobody names them, these are the modules that peft adapts in such a model.
TrainRecipe with_targets_of_model(TrainRecipe recipe, const Config& config);
/// Applies both.
TrainRecipe settled(TrainRecipe recipe, const Config& config);

/// The GPUs divided by the tensor, pipeline and context parallel ranks.
Result<std::int64_t> data_ranks(const Config& config, const TrainRecipe& recipe);
/// It is one, however many GPUs there are, because they share each sequence.
Result<std::int64_t> one_data_rank(const Config& config, const TrainRecipe& recipe);

/// The plan of a framework that has no options of its own.
Result<TrainPlanPointer> plan_without_options(const Config& config, const TrainRecipe& recipe);

/// The classes of ranks that `classes` makes by the framework's own options in the plan.
template <class Own,
          Result<std::vector<RankClass>> (*classes)(const Config&, const TrainRecipe&, const Own&)>
Result<std::vector<RankClass>> ranks_with(const TrainPlan& plan, const Config& config) {
  return classes(config, plan.common, own_options<Own>(plan));
}

/// Runs one rank of `program`, which takes the framework's own options in addition to the recipe.
template <class Own, Result<TrainRun> (*program)(const Config&, const TrainRecipe&, const Own&,
                                                 const ghost::DeviceTraits&, int rank)>
Result<TrainRun> run_with(const TrainPlan& plan, const Config& config,
                          const ghost::DeviceTraits& device, int rank) {
  return program(config, plan.common, own_options<Own>(plan), device, rank);
}

/// The one class of GPUs that all run the same program on the same sizes.
Result<std::vector<RankClass>> alike_ranks(const TrainPlan& plan, const Config& config);

}  // namespace memtape::torch
