// SPDX-License-Identifier: Apache-2.0
// What every training program does with a model outside of its loop: it builds the model, adds
// adapters, freezes parameters, lists what is trained, and counts it.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "family/pretrained.h"
#include "framework/torch/train_loop.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torch {

/// What a model is made for: a classifier of tokens with one class can be asked, not trained.
enum class Purpose { training, inference };

/// The model as its constructor leaves it.
Result<std::unique_ptr<family::PretrainedModel>> new_model(const Config& config,
                                                           const TrainRecipe& recipe,
                                                           Purpose purpose = Purpose::training);

/// The sizes of one sample that the recipe trains on. The labels of an encoder-decoder have their
/// own length.
family::SampleSizes sample_sizes(const family::PretrainedModel& model, const TrainRecipe& recipe);

/// What is done to a model before its optimizer is made: adapters are added, parameters are frozen,
/// and checkpointing is switched on.
Result<void> adapt_model(family::PretrainedModel& model, const TrainRecipe& recipe,
                         const Config& config);

/// The model that the recipe trains, with its adapters, its frozen parameters and its
/// checkpointing.
Result<std::unique_ptr<family::PretrainedModel>> build_model(const Config& config,
                                                             const TrainRecipe& recipe);

/// The parameters that require gradients, in the order of model.parameters().
std::vector<ghost::Tensor> trainable_parameters(family::PretrainedModel& model);

/// The sizes of parameters and buffers. Only the loop knows those of gradients and optimizer
/// states.
StaticBytes count_statics(family::PretrainedModel& model);

/// The bytes of the gradients that exist.
Bytes gradient_bytes(const std::vector<ghost::Tensor>& parameters);

}  // namespace memtape::torch
