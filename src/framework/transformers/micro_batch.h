// SPDX-License-Identifier: Apache-2.0
// A micro-batch as the trainer's own collator makes it: Trainer's (batches.h), and what trl's
// collators of preferences put beside it.
#pragma once

#include "framework/transformers/objective.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

/// So many examples, on the GPU; none for trainers that make their own. trl's batches of
/// preferences hold a completion mask in place of labels; ref_chosen_logps stands where the count
/// of items does (KTO's label, too), and what a batch holds beyond is its `rest`.
Inputs micro_batch(const TrainRecipe& recipe, const family::PretrainedModel& model,
                   std::int64_t examples);

}  // namespace memtape::transformers
