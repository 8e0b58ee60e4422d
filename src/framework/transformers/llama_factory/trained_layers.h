// SPDX-License-Identifier: Apache-2.0
// LLaMA-Factory's checkpointing if only the last layers are trained (0.9.5,
// model/model_utils/checkpointing.py: get_custom_gradient_checkpointing_func). A layer without
// trained parameters is called as it is, and the input of the first layer that has any is made to
// require a gradient. Embeddings, whose output transformers would make require one, do not.
#pragma once

#include <memory>

#include "base/result.h"
#include "family/pretrained.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers::llama_factory {

/// The hook on the layer below the first one that is trained. There is none if all layers or no
/// layers are checkpointed. It must live as long as the model is called.
Result<std::unique_ptr<nn::ForwardHooks>> checkpoint_trained_layers(family::PretrainedModel& model,
                                                                    const TrainRecipe& recipe);

}  // namespace memtape::transformers::llama_factory
