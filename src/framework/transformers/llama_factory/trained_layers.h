// SPDX-License-Identifier: Apache-2.0
// LLaMA-Factory's checkpointing where only the last layers are trained (0.9.5,
// model/model_utils/checkpointing.py: get_custom_gradient_checkpointing_func): a layer without
// trained parameters is called as it is, and what the first with any is called with is made to
// require a gradient. Embeddings, which transformers would have require one, do not.
#pragma once

#include <memory>

#include "base/result.h"
#include "family/pretrained.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers::llama_factory {

/// The hook on the layer below the first that is trained; nothing where all are checkpointed, or
/// none. It has to live as long as the model is called.
Result<std::unique_ptr<nn::ForwardHooks>> checkpoint_trained_layers(family::PretrainedModel& model,
                                                                    const TrainRecipe& recipe);

}  // namespace memtape::transformers::llama_factory
