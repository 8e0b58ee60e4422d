// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/make_objective.h"

#include "framework/transformers/llama_factory/dpo_objective.h"
#include "framework/transformers/llama_factory/kto_objective.h"
#include "framework/transformers/llama_factory/pairwise_objective.h"
#include "framework/transformers/trainer_objective.h"
#include "framework/transformers/trainer_recipe.h"
#include "framework/transformers/trl/cpo_objective.h"
#include "framework/transformers/trl/dpo_objective.h"
#include "framework/transformers/trl/grpo_objective.h"
#include "framework/transformers/trl/kto_objective.h"
#include "framework/transformers/trl/reward_objective.h"
#include "framework/transformers/trl/sft_objective.h"

namespace memtape::transformers {

std::unique_ptr<Objective> make_objective(const TrainRecipe& recipe, const PreparedModel& model,
                                          const PreparedModel* reference) {
  const TrainerRecipe& trainer = trainer_of(recipe);
  if (trainer.dpo) return std::make_unique<trl::DpoObjective>(recipe, model, reference);
  if (recipe.program.is_kto())
    return std::make_unique<llama_factory::KtoObjective>(model, reference);
  if (recipe.program.trains_value_head())
    return std::make_unique<llama_factory::PairwiseObjective>(model);
  if (recipe.program.trains_preferences())
    return std::make_unique<llama_factory::DpoObjective>(recipe, model, reference);
  if (trainer.reward) return std::make_unique<trl::RewardObjective>(recipe, model);
  if (trainer.grpo) return std::make_unique<trl::GrpoObjective>(recipe, model, reference);
  if (trainer.kto) return std::make_unique<trl::KtoObjective>(recipe, model, reference);
  if (trainer.cpo) return std::make_unique<trl::CpoObjective>(recipe, model);
  if (trainer.sft) return std::make_unique<trl::SftObjective>(recipe, model);
  return std::make_unique<TrainerObjective>(recipe, model);
}

}  // namespace memtape::transformers
