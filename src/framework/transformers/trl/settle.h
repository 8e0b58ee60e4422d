// SPDX-License-Identifier: Apache-2.0
// What follows from all fields of one of trl's configurations together (__post_init__ and the
// trainers' __init__ of trl 1.16), and from the release.
#pragma once

#include "base/result.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

Result<void> settle_trl(TrainRecipe& recipe);

/// The share of the GPU that vLLM holds beside the training.
double engine_share(const TrainRecipe& recipe);

}  // namespace memtape::transformers
