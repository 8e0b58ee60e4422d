// SPDX-License-Identifier: Apache-2.0
// --global-batch-size: how many micro-batches of each data parallel rank make a step of so many
// sequences.
#pragma once

#include "base/result.h"
#include "model/config.h"

namespace memtape {

struct TrainRecipe;

/// The recipe with its gradient accumulation set by the global batch, where one is asked for; an
/// error where the batch does not divide, or where both are said and differ. A pipeline of torch
/// takes as many micro-batches; Megatron-LM counts its data parallel ranks itself.
Result<TrainRecipe> with_global_batch(TrainRecipe recipe, const Config& config);

}  // namespace memtape
