// SPDX-License-Identifier: Apache-2.0
// Trainer's batches: default_data_collator's, sent to the GPU by accelerate's DataLoaderShard, and
// the count of labels in them (Trainer._get_num_items_in_batch of transformers 5.17).
#pragma once

#include <span>

#include "framework/transformers/objective.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

/// Whether a micro-batch holds a rejected sequence beside each chosen one.
bool trains_on_pairs(const TrainRecipe& recipe);

/// Ids, mask and labels of so many rows, as `model` takes them; or all of them in one row
/// (trl 1.16's DataCollatorForLanguageModeling(padding_free=True), trainer/sft_trainer.py).
Inputs collated_batch(const TrainRecipe& recipe, const family::PretrainedModel& model,
                      std::int64_t rows);

/// sum(labels.ne(-100).sum()), over all ranks where tokens are averaged across them. Labels count
/// from the second on where the loss shifts them.
ghost::Tensor num_items_in_batch(const TrainRecipe& recipe, std::span<const Inputs> batches,
                                 bool shifts_labels);

}  // namespace memtape::transformers
