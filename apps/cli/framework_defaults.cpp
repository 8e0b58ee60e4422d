// SPDX-License-Identifier: Apache-2.0
#include "framework_defaults.h"

#include <fmt/format.h>

#include "framework/dialects.h"
#include "workload/read_recipe.h"

namespace memtape::cli {
namespace {

std::string optimizer_of(const TrainRecipe& recipe) {
  const std::string_view called = recipe.optimizer_name;
  return called.empty()
             ? fmt::format("{} ({})", name(recipe.optimizer), name(recipe.optimizer_impl))
             : std::string(called);
}

std::string text_of(const TrainRecipe& recipe) {
  std::string text =
      fmt::format("{} x {} tokens, {}, {}", recipe.micro_batch_size, recipe.sequence_length,
                  name(recipe.precision), optimizer_of(recipe));
  if (recipe.max_grad_norm) text += fmt::format(", clip {:g}", *recipe.max_grad_norm);
  if (recipe.checkpointing != Checkpointing::none)
    text += fmt::format(", checkpointing {}", name(recipe.checkpointing));
  return text;
}

}  // namespace

std::vector<FrameworkDefaults> framework_defaults() {
  std::vector<FrameworkDefaults> all;
  for (const Framework* framework : frameworks()) {
    const NamedValues said{{"framework", std::string(framework->name)}};
    const Result<TrainRecipe> recipe = train_recipe(said, frameworks());
    all.push_back({framework->name, framework->summary, recipe ? text_of(*recipe) : ""});
  }
  return all;
}

}  // namespace memtape::cli
