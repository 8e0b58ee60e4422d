// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/unrecorded.h"

#include "framework/transformers/deepspeed_model.h"
#include "framework/transformers/images_left_out.h"
#include "framework/transformers/trainer_recipe.h"

namespace memtape::transformers {

void note_unrecorded(TrainRecipe& recipe) {
  leave_images_out(recipe);
  if (!runs_deepspeed(recipe)) return;
  if (recipe.program.trains_preferences())
    recipe.not_modelled.emplace_back(
        "LLaMA-Factory's trainer of preferences over DeepSpeed has not been laid beside a run");
  if (recipe.lora && recipe.lora->use_dora && cuts_parameters(recipe))
    recipe.not_modelled.emplace_back("DoRA over ZeRO 3 has not been laid beside a run");
}

}  // namespace memtape::transformers
