// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/disable_dropout.h"

#include <string_view>

#include "family/registry.h"
#include "framework/transformers/trainer_recipe.h"
#include "workload/train_recipe.h"

namespace memtape::transformers {

bool disables_dropout(const TrainRecipe& recipe) {
  const TrainerRecipe& trainer = trainer_of(recipe);
  if (recipe.program.trains_preferences()) return !recipe.program.trains_value_head();
  if (trainer.reward) return trainer.reward->disable_dropout;
  if (trainer.grpo) return trainer.grpo->disable_dropout;
  if (trainer.kto) return trainer.kto->disable_dropout;
  if (trainer.cpo) return trainer.cpo->disable_dropout;
  return trainer.dpo && trainer.dpo->disable_dropout;
}

Config without_dropout(const Config& config) {
  Config without = config;
  if (const family::FamilyFacts* const facts = family::facts_of(config))
    for (const std::string_view key : facts->module_rates)
      if (!key.empty()) without = without.with_integer(key, 0);
  return without;
}

}  // namespace memtape::transformers
