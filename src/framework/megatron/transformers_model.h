// SPDX-License-Identifier: Apache-2.0
// Expresses a transformers configuration and --strategy in Megatron's words. The result is the
// decoder that Megatron-Bridge makes of them with Transformer Engine or, if attention is unfused, a
// user's own loop over megatron-core's layers (local spec). There is no dropout.
#pragma once

#include "base/result.h"
#include "model/config.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::megatron {

/// A configuration of model_type "megatron", which holds the attributes of Megatron's arguments.
Result<Config> megatron_configuration(const Config& config, const TrainRecipe& recipe);

/// The recipe with what a launch command says in Megatron's own words, and with those settings of
/// Megatron-Bridge that are not modelled.
TrainRecipe resolved(TrainRecipe recipe, const Config& config);

}  // namespace memtape::megatron
