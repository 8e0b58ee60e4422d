// SPDX-License-Identifier: Apache-2.0
// What Trainer and trl's trainers refuse by themselves, and what of them is not modelled: said
// before a step is made, one line each.
#pragma once

#include "base/result.h"
#include "family/pretrained.h"
#include "model/config.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

/// The recipe alone.
Result<void> check_recipe(const TrainRecipe& recipe);

/// The recipe for a checkpoint of that configuration: packed before, or not fit for several
/// sequences in a row.
Result<void> check_checkpoint(const Config& config, const TrainRecipe& recipe);

/// The built model: the fused heads of trl and Liger start from the hidden states.
Result<void> check_head(const Config& config, const TrainRecipe& recipe,
                        family::PretrainedModel& model);

}  // namespace memtape::transformers
