// SPDX-License-Identifier: Apache-2.0
// What a model decides of a training where nobody says it: how long sequences are, and which modules
// get adapters.
#pragma once

#include "model/config.h"
#include "workload/train_recipe.h"

namespace memtape::torch {

/// Whether transformers of that release runs the model's attention through sdpa. Of models that are
/// neither listed by release nor without it altogether, it always did.
bool has_sdpa(const Config& config, const Release& release);

/// If nobody names a length, it is at most as many tokens as the model has positions.
TrainRecipe with_length_of_model(TrainRecipe recipe, const Config& config);
/// If nobody names them, these are the modules that peft adapts in such a model.
TrainRecipe with_targets_of_model(TrainRecipe recipe, const Config& config);
/// Attention is eager if the release has no sdpa for the model, which refuses to be told so.
TrainRecipe with_attention_of_release(TrainRecipe recipe, const Config& config);
/// Where nobody names a dtype: a class with flags for three of them (Qwen 1, modeling_qwen.py:
/// QWenLMHeadModel.__init__) casts itself to the one that is set, else to bfloat16.
TrainRecipe with_dtype_of_class(TrainRecipe recipe, const Config& config);
/// Applies all of these.
TrainRecipe settled(TrainRecipe recipe, const Config& config);

}  // namespace memtape::torch
