// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/training_cache.h"

#include <string>
#include <string_view>

#include "family/registry.h"
#include "framework/transformers/trainer_recipe.h"
#include "ghost/session.h"
#include "model/config.h"
#include "model/type_of.h"
#include "release/trainer_changes.h"
#include "release/transformers_4_changes.h"
#include "release/trl_changes.h"

namespace memtape::transformers {
namespace {

/// A task whose model caches, and a configuration that says so.
bool may_cache(const Config& config, const TrainRecipe& recipe) {
  return recipe.task != Task::masked_lm && recipe.task != Task::seq2seq_lm &&
         config.boolean("use_cache", true) && caches_in_training(config);
}

/// Models turn their cache off under gradient checkpointing; GPT-BigCode did not always.
bool caches_under_checkpointing(std::string_view model_type) {
  const bool turns_it_off = ghost::has(changes::kGptBigCodeForgetsCheckpoints)
                                ? ghost::has(changes::kGptBigCodeCheckpointsAgain)
                                : ghost::has(changes::kGptBigCodeChecksItsCache);
  return model_type == "gpt_bigcode" && !turns_it_off;
}

bool trl_caches_nothing(const TrainRecipe& recipe) {
  return recipe.is_of_trl() && (!trainer_of(recipe).sft || ghost::has(changes::kTrlCachesNothing));
}

}  // namespace

bool caches_in_training(const Config& config) {
  const family::FamilyFacts* const facts = family::facts_of(config);
  return facts && facts->modeling.caches_in_training == family::Known::yes;
}

bool makes_cache(const Config& config, const TrainRecipe& recipe) {
  return recipe.checkpointing == Checkpointing::none && may_cache(config, recipe);
}

bool trainer_makes_cache(const Config& config, const TrainRecipe& recipe) {
  const std::string model_type = type_of(config);
  const bool gemma = model_type.starts_with("gemma2") || model_type.starts_with("gemma3");
  const bool uses_cache =
      trainer_of(recipe).use_cache.value_or(!ghost::has(changes::kTrainerSetsUseCache));
  if (!uses_cache || trl_caches_nothing(recipe) || recipe.program.trains_preferences() ||
      recipe.task == Task::image_text_to_text || gemma || !may_cache(config, recipe))
    return false;
  return recipe.checkpointing == Checkpointing::none || caches_under_checkpointing(model_type);
}

}  // namespace memtape::transformers
