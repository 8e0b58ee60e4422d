// SPDX-License-Identifier: Apache-2.0
// Argument: a field of TrainingArguments or of one of trl's configurations, as one row: its name, how
// its value is typed, its default there, and what it says to a TrainRecipe. As HfArgumentParser
// takes them, a value may be left out, and of an argument that is said again the last counts.
#pragma once

#include <span>
#include <string_view>

#include "option/given.h"
#include "option/value.h"
#include "workload/train_recipe.h"

namespace memtape::transformers {

struct Argument : option::Option {
  option::Setter<TrainRecipe> set = nullptr;  ///< null: no block of a step depends on it
};

inline constexpr auto kTrainer = &TrainRecipe::trainer;
inline constexpr std::string_view kArgumentForm = "[VALUE]";

constexpr Argument field(std::string_view spelling, option::Kind kind,
                         option::Setter<TrainRecipe> set, std::string_view default_text = {}) {
  return {{spelling, kArgumentForm, {}, {}, kind, default_text}, set};
}

/// None, as Python spells it, is a value, too.
constexpr Argument or_none(Argument argument) {
  argument.word = "None";
  return argument;
}

constexpr Argument decides(std::string_view common_options, Argument argument,
                           option::Option::Agrees agrees = nullptr) {
  argument.sets = common_options;
  argument.agrees = agrees;
  return argument;
}

/// What is modelled at its default alone.
Result<void> keep_default(const option::Said& said, TrainRecipe& recipe);
constexpr Argument only(std::string_view spelling, std::string_view default_text) {
  return field(spelling, option::Text{}, keep_default, default_text);
}

/// A switch that is modelled in one position alone.
Result<void> keep_off(const option::Said& said, TrainRecipe& recipe);
Result<void> keep_on(const option::Said& said, TrainRecipe& recipe);

/// A value that is read, and changes nothing.
inline Result<void> pass(const option::Said&, TrainRecipe&) { return {}; }

/// Reads the value as the row says and sets it.
Result<void> set(const Argument& argument, std::string_view text, TrainRecipe& recipe);

const Argument* find(std::span<const Argument> rows, std::string_view name);

using option::lists;

}  // namespace memtape::transformers
