// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/dialect_parts.h"

#include <algorithm>

#include "family/registry.h"
#include "framework/torch/lora_targets.h"
#include "framework/torch/strategy.h"

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

std::vector<Package> packages_of_families(const TrainRecipe& recipe) {
  std::vector<Package> packages{Package::torch, Package::transformers};
  if (recipe.lora) packages.push_back(Package::peft);
  return packages;
}

TrainRecipe with_length_of_model(TrainRecipe recipe, const Config& config) {
  if (!recipe.names_sequence_length)
    recipe.sequence_length = std::min(recipe.sequence_length, positions_of(config, recipe));
  return recipe;
}

TrainRecipe with_targets_of_model(TrainRecipe recipe, const Config& config) {
  if (!recipe.lora || recipe.lora->targets != std::vector{std::string(kDefaultLoraTargets)})
    return recipe;
  if (auto known = default_lora_targets(config.text("model_type", "")); !known.empty())
    recipe.lora->targets = std::move(known);
  return recipe;
}

TrainRecipe settled(TrainRecipe recipe, const Config& config) {
  return with_targets_of_model(with_length_of_model(std::move(recipe), config), config);
}

Result<std::int64_t> data_ranks(const Config&, const TrainRecipe& recipe) {
  const LayoutRecipe& layout = recipe.layout;
  const std::int64_t model = layout.tp.value_or(1) * layout.pp.value_or(1) * layout.cp.value_or(1);
  return std::max<std::int64_t>(1, layout.gpus / model);
}

Result<std::int64_t> one_data_rank(const Config&, const TrainRecipe&) { return 1; }

Result<TrainPlanPointer> plan_without_options(const Config&, const TrainRecipe& recipe) {
  return plain_plan(recipe);
}

Result<void> check_offloads_all(std::span<const NamedValue>, const TrainRecipe& recipe) {
  const std::string& offload = recipe.layout.offload;
  if (offload.empty() || offload == "none" || offload == "all") return {};
  return bad_input("FSDP's CPUOffload takes parameters, gradients and optimizer together",
                   "--offload", "all");
}

Result<std::vector<RankClass>> alike_ranks(const TrainPlan& plan, const Config&) {
  return all_alike(plan.common.layout);
}

}  // namespace memtape::torch
