// SPDX-License-Identifier: Apache-2.0
// The options of `memtape train` that all frameworks share: one row each, with what it says to a
// TrainRecipe. What a value means in one framework alone is that framework's business
// (framework/*/), and so are its own arguments.
#pragma once

#include <span>
#include <string>

#include "option/given.h"
#include "option/value.h"
#include "workload/train_recipe.h"

namespace memtape {

/// The default of the releases that do not have a change yet.
struct EarlierDefault {
  const Change& change;
  std::string_view text;
};

/// An option with its meaning; options about the question or the machine say nothing to a recipe.
struct TrainOption : option::Option {
  option::Setter<TrainRecipe> set = nullptr;
  std::span<const EarlierDefault> earlier = {};

  std::string_view default_in(const Release& release) const;
};

std::span<const TrainOption> train_options();

/// A setter that notes that somebody said so.
template <auto is_named, auto... path>
Result<void> put_named(const option::Said& said, TrainRecipe& recipe) {
  recipe.*is_named = true;
  return option::put<path...>(said, recipe);
}

/// The row of that name; or null.
const TrainOption* find(std::span<const TrainOption> rows, std::string_view name);

/// Reads a value as its row says and tells it to the recipe; where no setter is, nothing is read.
Result<void> tell(const TrainOption& option, std::string_view text, TrainRecipe& recipe);

/// Names as the command line spells them.
std::string_view name(Precision precision);
std::string_view name(OptimizerName optimizer);
std::string_view name(OptimizerImpl impl);
std::string_view name(Checkpointing checkpointing);
std::string_view name(AttentionChoice attention);
std::string_view name(InitDevice device);
std::string_view name(Task task);

}  // namespace memtape
