// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/images_left_out.h"

#include <string>
#include <vector>

#include "framework/torch/freeze.h"
#include "framework/transformers/deepspeed_model.h"
#include "framework/transformers/trainer_recipe.h"

namespace memtape::transformers {

void leave_images_out(TrainRecipe& recipe) {
  if (recipe.task != Task::image_text_to_text) {
    std::erase(recipe.freeze, torch::kTowers);
    return;
  }
  // Cut parameters have not been laid beside a run of such a model.
  const bool cuts = trainer_of(recipe).fsdp || runs_deepspeed(recipe);
  recipe.leaves_images_out = true;
  (cuts ? recipe.not_modelled : recipe.assumed)
      .emplace_back("batches are taken to be text alone: images add what their tower holds");
}

}  // namespace memtape::transformers
