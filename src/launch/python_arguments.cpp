// SPDX-License-Identifier: Apache-2.0
#include "launch/python_arguments.h"

#include <deque>

#include <fmt/format.h>

#include "launch/flags.h"

namespace memtape::launch {
namespace {

YamlNode scalar_node(const std::string& text) {
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.text = text;
  return node;
}

/// No word is a switch that is on; several are a list.
YamlNode value_of(const std::vector<std::string>& words) {
  if (words.empty()) return scalar_node("true");
  if (words.size() == 1) return scalar_node(words.front());
  YamlNode list;
  list.kind = YamlNode::Kind::sequence;
  for (const std::string& word : words) list.children.push_back(scalar_node(word));
  return list;
}

}  // namespace

Result<Settings> read_python_arguments(std::span<const std::string> words,
                                       const PythonProgram& program) {
  std::deque<std::string> spelled;
  std::vector<Flag> table;
  for (const std::string_view name : program.names)
    table.push_back({.name = spelled.emplace_back(fmt::format("--{}", name)),
                     .arity = Arity::many,
                     .meaning = name});
  for (const std::string_view name : program.on_by_default)
    table.push_back({.name = spelled.emplace_back(fmt::format("--no_{}", name)),
                     .arity = Arity::none,
                     .meaning = name});
  const Result<ReadFlags> flags = read_flags(words, table, {.program = program.name});
  if (!flags) return tl::unexpected(flags.error());
  if (!flags->operands.empty())
    return bad_input(fmt::format("unexpected word {}", flags->operands.front()),
                     std::string(program.name), "every argument is a flag or its value");
  Settings settings;
  for (const GivenFlag& given : flags->given) {
    const bool off = given.flag->arity == Arity::none;
    settings.set({.name = std::string(given.flag->meaning),
                  .value = off ? scalar_node("false") : value_of(given.values),
                  .where = fmt::format("{}: {}", program.name, given.flag->name)});
  }
  return settings;
}

}  // namespace memtape::launch
