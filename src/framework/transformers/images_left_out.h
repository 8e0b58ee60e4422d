// SPDX-License-Identifier: Apache-2.0
// Trainer over a model with images is answered for batches of text alone, and says so.
#pragma once

#include "workload/train_recipe.h"

namespace memtape::transformers {

/// Notes what the answer leaves out of a model with images. Of another, towers that are frozen are
/// none.
void leave_images_out(TrainRecipe& recipe);

}  // namespace memtape::transformers
