// SPDX-License-Identifier: Apache-2.0
#include "framework/dialects.h"

#include <vector>

namespace memtape {

Frameworks frameworks() {
  static const std::vector<const Framework*> all = [] {
    std::vector<const Framework*> found;
    for (const Dialect* dialect : dialects()) found.push_back(&dialect->framework);
    return found;
  }();
  return all;
}

Result<const Framework*> framework_named(std::span<const NamedValue> values) {
  const std::string* name = last_value(values, "framework");
  return name ? find_framework(*name, frameworks()) : frameworks().front();
}

const Dialect& dialect_of(const Framework* framework) {
  for (const Dialect* dialect : dialects())
    if (&dialect->framework == framework) return *dialect;
  return *dialects().front();
}

const Dialect& dialect_of(const TrainRecipe& recipe) { return dialect_of(recipe.framework); }

std::string names_of_dialects(bool (*takes)(const Dialect& dialect)) {
  std::vector<std::string_view> names;
  for (const Dialect* dialect : dialects())
    if (takes(*dialect)) names.push_back(dialect->framework.name);
  std::string text;
  for (std::size_t at = 0; at < names.size(); ++at)
    text += (at == 0 ? "" : at + 1 == names.size() ? " or " : ", ") + std::string(names[at]);
  return text;
}

}  // namespace memtape
