// SPDX-License-Identifier: Apache-2.0
// Trainer over a model with images is answered for batches of text alone, and says so.
#pragma once

namespace memtape {

struct TrainRecipe;

namespace transformers {

/// Notes what the answer leaves out of a model with images. Of another, towers that are frozen are
/// none.
void leave_images_out(TrainRecipe& recipe);

}  // namespace transformers

}  // namespace memtape
