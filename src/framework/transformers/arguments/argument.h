// SPDX-License-Identifier: Apache-2.0
// Argument: a field of TrainingArguments or of one of trl's configurations, as one row: its name,
// the type of its value, its default there, and what it changes in a TrainRecipe. As
// HfArgumentParser does, it accepts an argument without a value; if an argument is given again, the
// last one counts.
#pragma once

#include <span>
#include <string_view>

#include "framework/transformers/trainer_recipe.h"
#include "option/value.h"
#include "workload/train_options.h"

namespace memtape::transformers {

using Argument = TrainOption;

/// A probability, or another share of a whole.
inline constexpr option::Real kShare{0.0, 1.0};

/// A row. Without a setter, no block of a step depends on the argument, and its value is checked
/// alone.
constexpr Argument field(std::string_view spelling, option::Kind kind,
                         std::string_view default_text = {},
                         option::Setter<TrainRecipe> set = nullptr) {
  return {{spelling, "[VALUE]", {}, {}, kind, default_text}, set};
}

/// The value may also be None, as Python spells it.
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

/// It mirrors that, and not what the other rows of its table do.
constexpr Argument by(std::string_view source, Argument argument) {
  argument.group.source = source;
  return argument;
}

/// Releases before a certain change have another default.
constexpr Argument since(std::span<const EarlierDefault> earlier, Argument argument) {
  argument.earlier = earlier;
  return argument;
}

/// Writes the value to a member of TrainerRecipe, or of a part of it.
template <auto... path>
Result<void> to_trainer(const option::Said& said, TrainRecipe& recipe) {
  return option::put<path...>(said, trainer_of(recipe));
}

/// Writes whether the choice is the one with that index.
template <std::int64_t index, auto... path>
Result<void> put_is(const option::Said& said, TrainRecipe& recipe) {
  return option::put_is<index, path...>(said, trainer_of(recipe));
}

/// Writes whether a number is given and has an effect, which it has not if it equals `nothing`.
template <int nothing, auto... path>
Result<void> put_unless(const option::Said& said, TrainRecipe& recipe) {
  const option::Value does = said.real() != nothing;
  return to_trainer<path...>({said.option, said.text, does}, recipe);
}

/// Writes whether a value is given.
template <auto... path>
Result<void> put_given(const option::Said& said, TrainRecipe& recipe) {
  const option::Value is_given = !std::holds_alternative<std::monostate>(said.value);
  return to_trainer<path...>({said.option, said.text, is_given}, recipe);
}

/// For an argument that is modelled only at its default.
Result<void> keep(const option::Said& said, TrainRecipe& recipe);

/// For a value that is read and changes nothing.
inline Result<void> pass(const option::Said&, TrainRecipe&) { return {}; }

}  // namespace memtape::transformers
