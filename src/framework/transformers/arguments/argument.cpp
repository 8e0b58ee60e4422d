// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/arguments/argument.h"

namespace memtape::transformers {

Result<void> keep_default(const option::Said& said, TrainRecipe&) {
  const std::string_view only = said.option.default_text;
  if (said.text == only) return {};
  return unsupported("\"" + std::string(said.text) + "\" is not modelled",
                     "--" + std::string(said.name()),
                     only.empty() ? "leave it out" : std::string(only));
}

Result<void> keep_off(const option::Said& said, TrainRecipe&) {
  if (!said.on()) return {};
  return unsupported("not modelled", "--" + std::string(said.name()), "false");
}

Result<void> keep_on(const option::Said& said, TrainRecipe&) {
  if (said.on()) return {};
  return unsupported("not modelled", "--" + std::string(said.name()), "true");
}

Result<void> set(const Argument& argument, std::string_view text, TrainRecipe& recipe) {
  if (!argument.set) return {};
  const Result<option::Value> value = option::read(argument, text);
  return value ? argument.set({argument, text, *value}, recipe) : tl::unexpected(value.error());
}

const Argument* find(std::span<const Argument> rows, std::string_view name) {
  for (const Argument& row : rows)
    if (row.name() == name) return &row;
  return nullptr;
}

}  // namespace memtape::transformers
