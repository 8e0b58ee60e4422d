// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/micro_batch.h"

#include "framework/transformers/batches.h"
#include "framework/transformers/trainer_recipe.h"
#include "framework/transformers/trl/cpo_objective.h"
#include "framework/transformers/trl/kto_objective.h"
#include "ghost/ops/creation.h"

namespace memtape::transformers {

Inputs micro_batch(const TrainRecipe& recipe, const family::PretrainedModel& model,
                   std::int64_t examples) {
  const TrainerRecipe& trainer = trainer_of(recipe);
  if (trainer.grpo) return {};  // prompts, on the host
  if (trainer.cpo) return trl::paired_inputs(recipe, examples);
  Inputs batch = collated_batch(recipe, model, (trains_on_pairs(recipe) ? 2 : 1) * examples);
  if (trainer.dpo && trainer.dpo->precompute_ref_log_probs) {
    batch.num_items_in_batch = ghost::zeros({examples}, DType::float32, Category::input);
    batch.rest.push_back(ghost::zeros({examples}, DType::float32, Category::input));
  }
  if (trainer.kto || recipe.program.is_kto()) {
    batch.rest =
        trl::kto_extras(trainer.kto.value_or(KtoRecipe{}), examples, recipe.sequence_length);
    batch.num_items_in_batch = batch.rest.back();
  }
  return batch;
}

}  // namespace memtape::transformers
