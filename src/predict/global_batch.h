// SPDX-License-Identifier: Apache-2.0
// --global-batch-size: how many micro-batches each data parallel rank needs for a step of that many
// sequences.
#pragma once

#include "base/result.h"
#include "model/config.h"

namespace memtape {

struct TrainRecipe;

/// The recipe, with its gradient accumulation set by the global batch if one is asked for. It is an
/// error if the batch does not divide, or if both are given and contradict each other. A pipeline
/// of torch takes that many micro-batches; Megatron-LM counts its data parallel ranks itself.
Result<TrainRecipe> with_global_batch(TrainRecipe recipe, const Config& config);

}  // namespace memtape
