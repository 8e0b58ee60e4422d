// SPDX-License-Identifier: Apache-2.0
#include "option/help.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace memtape::option {
namespace {

/// "; mirrors `torch.compile`"
std::string mirrored(const Option& option) {
  const std::string_view source = option.group.source;
  return source.empty() ? std::string() : fmt::format("; mirrors `{}`", source);
}

/// '|' would end the cell of a table.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

}  // namespace

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

std::string table_markdown(const Table& table) {
  std::string text;
  for (const std::string_view group : groups_of(table)) {
    text += fmt::format("\n**{}**\n\n| option | what it does |\n|---|---|\n",
                        group.empty() ? "Options" : group);
    for (const Option* option : table)
      if (option->group.name == group && !option->help.empty())
        text += fmt::format("| `{}` | {}{} |\n", cell(left_of(*option)), cell(option->help_line()),
                            mirrored(*option));
  }
  return text;
}

std::string help_markdown(const Syntax& syntax) {
  return fmt::format("## `{}`\n\n{}\n{}", usage(syntax), syntax.summary,
                     table_markdown(syntax.table));
}

std::string kind_text(const Option& option) {
  struct KindText {
    std::string operator()(Text) const { return "text"; }
    std::string operator()(OnOff) const { return "true or false"; }
    std::string operator()(Whole) const { return "a whole number"; }
    std::string operator()(Real) const { return "a number"; }
    std::string operator()(Choice choice) const {
      return fmt::format("`{}`", fmt::join(choice.names, "`, `"));
    }
  };
  const std::string text = std::visit(KindText{}, option.kind);
  return option.word.empty() ? text : fmt::format("{}, or `{}`", text, option.word);
}

}  // namespace memtape::option
