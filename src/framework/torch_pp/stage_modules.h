// SPDX-License-Identifier: Apache-2.0
// The modules of a rank's stages as programs make them: the whole model is made without memory (on
// the meta device), its layers are distributed over the stages, and then Module.to_empty gives
// memory to the part of each stage. Tied weights become separate, since every stage gets its own.
// The rotary embedding is the same module in each stage, so a rank holds it once.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "family/parts/stage_parts.h"
#include "family/pretrained.h"
#include "framework/torch_pp/options.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torch_pp {

/// The model with all its parameters, none of which has memory yet.
Result<std::unique_ptr<family::PretrainedModel>> model_without_memory(const Config& config,
                                                                      const TrainRecipe& recipe);

/// The number of layers that each stage holds of a model with `layers` layers. It is an error if
/// they do not divide.
Result<std::vector<std::int64_t>> layers_by_stage(const Options& options, std::int64_t layers);

/// Module.to_empty(device="cuda") of the modules of one stage.
void to_empty(const std::vector<const nn::ModuleNode*>& modules);

}  // namespace memtape::torch_pp
