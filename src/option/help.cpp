// SPDX-License-Identifier: Apache-2.0
#include "option/help.h"

#include <algorithm>

#include <fmt/format.h>

namespace memtape::option {
std::string left_of(const Option& option) {
  return option.form.empty() ? std::string(option.spellings)
                             : fmt::format("{} {}", option.spellings, option.form);
}

std::vector<std::string_view> groups_of(const Table& table) {
  std::vector<std::string_view> groups;
  for (const Option* option : table)
    if (!option->help.empty() && std::ranges::find(groups, option->group.name) == groups.end())
      groups.push_back(option->group.name);
  return groups;
}

std::string usage(const Syntax& syntax) {
  std::string text = fmt::format("memtape {} [options]", syntax.command);
  for (const Operand& operand : syntax.operands) {
    const std::string name = fmt::format("{}{}", operand.name, operand.is_many ? "..." : "");
    text += operand.is_required ? " " + name : fmt::format(" [{}]", name);
  }
  return text;
}

}  // namespace memtape::option
