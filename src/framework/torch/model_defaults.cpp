// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/model_defaults.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "family/registry.h"
#include "framework/torch/lora_targets.h"
#include "model/type_of.h"
#include "release/sdpa_changes.h"

namespace memtape::torch {
namespace {

/// How many tokens of text a model has positions for, as far as its configuration says.
std::int64_t positions_of(const Config& config, const TrainRecipe& recipe) {
  if (recipe.task == Task::speech_seq2seq) return config.dimension("max_target_positions", 448);
  if (recipe.task == Task::zero_shot_image_classification)
    return config.object("text_config").dimension("max_position_embeddings", 77);
  const std::int64_t positions = config.integer(
      "max_position_embeddings", config.integer("n_positions", recipe.sequence_length));
  const family::FamilyFacts* const facts = family::facts_of(config);
  const bool counts_from_padding =
      facts && facts->modeling.counts_from_padding == family::Known::yes;
  const std::int64_t unused = counts_from_padding ? config.integer("pad_token_id", 1) + 1 : 0;
  return positions > unused ? positions - unused : recipe.sequence_length;
}

}  // namespace

bool has_sdpa(const Config& config, const Release& release) {
  if (!release.has(changes::kTransformersTakesSdpa)) return false;
  const std::string type = config.text("model_type", "");
  for (const auto& [change, model_types] : changes::kEagerModels)
    if (release.has(change) && std::ranges::find(model_types, type) != model_types.end())
      return false;
  for (const auto& [change, model_types] : changes::kSdpaModels)
    if (std::ranges::find(model_types, type) != model_types.end()) return release.has(change);
  const family::FamilyFacts* const facts = family::facts_of(config);
  return !facts || facts->modeling.has_sdpa != family::Known::no;
}

TrainRecipe with_length_of_model(TrainRecipe recipe, const Config& config) {
  if (!recipe.names_sequence_length)
    recipe.sequence_length = std::min(recipe.sequence_length, positions_of(config, recipe));
  return recipe;
}

TrainRecipe with_targets_of_model(TrainRecipe recipe, const Config& config) {
  const bool names_none =
      recipe.lora && recipe.lora->targets.empty() && recipe.lora->target_pattern.empty();
  if (names_none) recipe.lora->targets = {std::string(kDefaultLoraTargets)};
  if (!recipe.lora || recipe.lora->targets != std::vector{std::string(kDefaultLoraTargets)})
    return recipe;
  if (auto known = default_lora_targets(config.text("model_type", "")); !known.empty())
    recipe.lora->targets = std::move(known);
  return recipe;
}

TrainRecipe with_attention_of_release(TrainRecipe recipe, const Config& config) {
  if (recipe.attention != AttentionChoice::sdpa || has_sdpa(config, recipe.release)) return recipe;
  if (recipe.names_attention)
    recipe.assumed.push_back(
        fmt::format("transformers {} has no sdpa attention for {} and stops where it is asked for: "
                    "this is the answer with eager attention, its default",
                    recipe.release.of(Package::transformers).text(), type_of(config)));
  recipe.attention = AttentionChoice::eager;
  return recipe;
}

TrainRecipe with_dtype_of_class(TrainRecipe recipe, const Config& config) {
  if (recipe.weights || !config.has("bf16") || !config.has("fp16") || !config.has("fp32"))
    return recipe;
  recipe.weights = config.boolean("fp32")   ? DType::float32
                   : config.boolean("fp16") ? DType::float16
                                            : DType::bfloat16;
  return recipe;
}

TrainRecipe settled(TrainRecipe recipe, const Config& config) {
  recipe = with_dtype_of_class(with_length_of_model(std::move(recipe), config), config);
  return with_attention_of_release(with_targets_of_model(std::move(recipe), config), config);
}

}  // namespace memtape::torch
