// SPDX-License-Identifier: Apache-2.0
#include "option/option.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/comma_list.h"
#include "base/text.h"

namespace memtape::option {

bool lists(std::string_view spellings, std::string_view name) {
  return any_word(spellings, [&](std::string_view word) { return word.substr(2) == name; });
}

bool Option::is_spelled(std::string_view typed) const {
  return any_word(spellings, [&](std::string_view spelling) { return spelling == typed; });
}

std::string Option::help_text() const {
  std::string text(help);
  const auto* choice = std::get_if<Choice>(&kind);
  if (const std::size_t at = text.find("{}"); choice && at != text.npos)
    text.replace(at, 2, fmt::format("{}", fmt::join(choice->names, ", ")));
  return text;
}

std::string Option::help_line() const {
  return default_text.empty() ? help_text() : fmt::format("{} ({})", help_text(), default_text);
}

bool is_same_name(std::string_view a, std::string_view b) {
  const auto letter = [](char c) { return c == '_' ? '-' : c; };
  return std::ranges::equal(a, b, {}, letter, letter);
}

const Option* find(const Table& table, std::string_view typed) {
  for (const Option* option : table)
    if (option->is_spelled(typed)) return option;
  if (!typed.starts_with("--") || typed.size() == 2) return nullptr;
  for (const Option* option : table)
    if (any_word(option->spellings, [&](std::string_view s) { return is_same_name(s, typed); }))
      return option;
  return nullptr;
}

const Option* named(const Table& table, std::string_view name) {
  const auto at = std::ranges::find(table, name, [](const Option* o) { return o->name(); });
  return at == table.end() ? nullptr : *at;
}

std::vector<std::string> Option::choices() const {
  if (const auto* choice = std::get_if<Choice>(&kind))
    return {choice->names.begin(), choice->names.end()};
  const std::size_t open = form.find('{'), close = form.find('}');
  if (!word.empty() || open == form.npos || close == form.npos) return {};
  std::vector<std::string> names = split_at_commas(form.substr(open + 1, close - open - 1));
  std::erase(names, "...");
  return names;
}

std::string near_option(const Table& table, std::string_view typed) {
  std::vector<std::string_view> names;
  for (const Option* option : table) {
    const std::string_view name = option->spellings.substr(0, option->spellings.find(' '));
    if (any_word(option->meant, [&](std::string_view word) { return is_same_name(word, typed); }))
      return fmt::format("did you mean {}?", name);
    names.push_back(name.substr(std::min(name.find_first_not_of('-'), name.size())));
  }
  typed.remove_prefix(std::min(typed.find_first_not_of('-'), typed.size()));
  const std::string_view best = nearest(typed, names);
  return best.empty() ? "" : fmt::format("did you mean --{}?", best);
}

}  // namespace memtape::option
