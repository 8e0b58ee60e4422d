// SPDX-License-Identifier: Apache-2.0
// A batch of a plain loop: zeros of the sizes that the model takes for each sample. If the labels
// have the size of the inputs, they are the inputs or a copy of them.
#pragma once

#include "family/pretrained.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torch {

enum class LabelsOfInputs { same_tensor, copy };

family::Batch zero_batch(const family::PretrainedModel& model, const TrainRecipe& recipe,
                         LabelsOfInputs labels);

}  // namespace memtape::torch
