// SPDX-License-Identifier: Apache-2.0
// What Trainer and trl's trainers refuse themselves, and what is not modelled of them. It is
// reported before a step is made, in one line each.
#pragma once

#include "base/result.h"
#include "family/pretrained.h"
#include "model/config.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

/// Checks the recipe alone.
Result<void> check_recipe(const TrainRecipe& recipe);

/// Checks the recipe with a checkpoint of that configuration, which may be packed, or not suitable
/// for several sequences in a row.
Result<void> check_checkpoint(const Config& config, const TrainRecipe& recipe);

/// FlashAttention's kernels take no float32, which is what a step computes in that was asked for
/// neither autocast nor an engine of 16 bits. Over a quantized base transformers casts before them
/// (integrations/flash_attention.py, get_target_dtype).
Result<void> check_flash(const Config& config, const TrainRecipe& asked);

/// Checks the built model: the fused heads of trl and Liger start from the hidden states.
Result<void> check_head(const Config& config, const TrainRecipe& recipe,
                        family::PretrainedModel& model);

}  // namespace memtape::transformers
