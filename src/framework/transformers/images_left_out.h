// SPDX-License-Identifier: Apache-2.0
// Trainer over a model with images is answered for batches of text alone, and says so.
#pragma once

#include <string_view>

namespace memtape {

struct TrainRecipe;

namespace transformers {

/// Notes what the answer leaves out of a model with images. Of another, towers that are frozen are
/// none.
/// What is assumed then.
inline constexpr std::string_view kImagesLeftOut =
    "batches are taken to be text alone: images add what their tower holds";

void leave_images_out(TrainRecipe& recipe);

}  // namespace transformers

}  // namespace memtape
