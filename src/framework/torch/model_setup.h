// SPDX-License-Identifier: Apache-2.0
// What every training program does with a model around its loop: build it, adapt and freeze it,
// list what is trained, and count it.
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

/// The model as its constructor leaves it.
Result<std::unique_ptr<family::PretrainedModel>> new_model(const Config& config,
                                                           const TrainRecipe& recipe);

/// A sample of what the recipe trains on; an encoder-decoder's labels have a length of their own.
family::SampleSizes sample_sizes(const family::PretrainedModel& model, const TrainRecipe& recipe);

/// What is done to a model before its optimizer is made: adapters, frozen parameters,
/// checkpointing.
Result<void> adapt_model(family::PretrainedModel& model, const TrainRecipe& recipe,
                         const Config& config);

/// The model the recipe trains, with its adapters, its frozen parameters and its checkpointing.
Result<std::unique_ptr<family::PretrainedModel>> build_model(const Config& config,
                                                             const TrainRecipe& recipe);

/// The parameters that want gradients, in the order of model.parameters().
std::vector<ghost::Tensor> trainable_parameters(family::PretrainedModel& model);

/// Sizes of parameters and buffers; of gradients and optimizer states the loop knows.
StaticBytes count_statics(family::PretrainedModel& model);

/// Bytes of the gradients there are.
Bytes gradient_bytes(const std::vector<ghost::Tensor>& parameters);

}  // namespace memtape::torch
