// SPDX-License-Identifier: Apache-2.0
// A micro-batch as the trainer's own collator makes it: that of Trainer (batches.h), and what trl's
// preference collators add to it.
#pragma once

#include "framework/transformers/objective.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

/// `examples` examples, on the GPU. It is empty for trainers that make their own. trl's preference
/// batches hold a completion mask instead of labels; ref_chosen_logps takes the place of the count
/// of items, and so does KTO's label. Anything more that a batch holds is its `rest`.
Inputs micro_batch(const TrainRecipe& recipe, const family::PretrainedModel& model,
                   std::int64_t examples);

}  // namespace memtape::transformers
