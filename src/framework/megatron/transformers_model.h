// SPDX-License-Identifier: Apache-2.0
// A transformers configuration and --strategy in Megatron's words: the decoder that Megatron-Bridge
// makes of it with Transformer Engine or, where attention is unfused, a loop of one's own of
// megatron-core's layers (local spec); without dropout.
#pragma once

#include "base/result.h"
#include "model/config.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::megatron {

/// A configuration of model_type "megatron": the attributes of Megatron's arguments.
Result<Config> megatron_configuration(const Config& config, const TrainRecipe& recipe);

/// The recipe with what a launch command says in Megatron's own words, and with what
/// Megatron-Bridge sets that is not modelled.
TrainRecipe resolved(TrainRecipe recipe, const Config& config);

}  // namespace memtape::megatron
