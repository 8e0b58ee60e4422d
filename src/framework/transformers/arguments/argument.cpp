// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/arguments/argument.h"

namespace memtape::transformers {

Result<void> keep(const option::Said& said, TrainRecipe&) {
  const std::string_view only = said.option.default_text;
  const bool is_switch = std::holds_alternative<bool>(said.value);
  if (is_switch ? said.on() == (only == "true") : said.text == only) return {};
  return unsupported(
      is_switch ? "not modelled" : "\"" + std::string(said.text) + "\" is not modelled",
      "--" + std::string(said.name()), only.empty() ? "leave it out" : std::string(only));
}

}  // namespace memtape::transformers
