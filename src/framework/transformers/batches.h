// SPDX-License-Identifier: Apache-2.0
// Trainer's batches: those of default_data_collator, which DataLoaderShard of accelerate sends to
// the GPU, and the count of the labels in them (Trainer._get_num_items_in_batch of transformers
// 5.17).
#pragma once

#include <span>

#include "framework/transformers/objective.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

/// Whether a micro-batch holds a rejected sequence for each chosen one.
bool trains_on_pairs(const TrainRecipe& recipe);

/// Ids, mask and labels of `rows` rows, as `model` takes them. Or all sequences are in one row
/// (DataCollatorForLanguageModeling(padding_free=True) of trl 1.16, trainer/sft_trainer.py).
Inputs collated_batch(const TrainRecipe& recipe, const family::PretrainedModel& model,
                      std::int64_t rows);

/// sum(labels.ne(-100).sum()), summed over all ranks if tokens are averaged across them. If the
/// loss shifts labels, they count from the second one on.
ghost::Tensor num_items_in_batch(const TrainRecipe& recipe, std::span<const Inputs> batches,
                                 bool shifts_labels);

}  // namespace memtape::transformers
