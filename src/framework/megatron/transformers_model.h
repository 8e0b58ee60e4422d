// SPDX-License-Identifier: Apache-2.0
// A transformers configuration and --strategy in Megatron's words: the decoder that megatron-core
// builds of its own layers (local spec) for it, without dropout.
#pragma once

#include "base/result.h"
#include "model/config.h"
#include "workload/train_recipe.h"

namespace memtape::megatron {

/// A configuration of model_type "megatron": the attributes of Megatron's arguments.
Result<Config> megatron_configuration(const Config& config, const TrainRecipe& recipe);

}  // namespace memtape::megatron
