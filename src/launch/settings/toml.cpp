// SPDX-License-Identifier: Apache-2.0
#include "launch/settings/toml.h"

#include <optional>
#include <string>

#include <fmt/format.h>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
// parse_key() of toml++ 3.3 asserts what the text decides ("[[[") and then says so as an error;
// with clang the assertion would become an assumption.
#include <toml++/impl/preprocessor.h>
#undef TOML_ASSERT_ASSUME
#define TOML_ASSERT_ASSUME(expression) static_assert(true)
#include <toml++/toml.h>

namespace memtape::launch {
namespace {

using Kind = YamlNode::Kind;

/// toml++ nests as deep as its own limit (TOML_MAX_NESTED_VALUES) allows.
YamlNode node_of(const toml::node& value, std::string key);

YamlNode table_of(const toml::table& table, std::string key) {
  YamlNode node{.kind = Kind::mapping, .key = std::move(key), .text = {}, .children = {}};
  for (const auto& [name, child] : table)
    node.children.push_back(node_of(child, std::string(name.str())));
  return node;
}

YamlNode array_of(const toml::array& array, std::string key) {
  YamlNode node{.kind = Kind::sequence, .key = std::move(key), .text = {}, .children = {}};
  for (const toml::node& child : array) node.children.push_back(node_of(child, {}));
  return node;
}

YamlNode scalar_of(const toml::node& value, std::string key) {
  YamlNode node{.kind = Kind::scalar, .key = std::move(key), .text = {}, .children = {}};
  if (const auto* text = value.as_string()) {
    node.text = text->get();
    node.quoted = true;
  } else if (const auto* whole = value.as_integer()) {
    node.text = fmt::format("{}", whole->get());
  } else if (const auto* number = value.as_floating_point()) {
    node.text = fmt::format("{}", number->get());
  } else if (const auto* truth = value.as_boolean()) {
    node.text = truth->get() ? "true" : "false";
  }
  return node;
}

YamlNode node_of(const toml::node& value, std::string key) {
  YamlNode node = value.is_table()   ? table_of(*value.as_table(), std::move(key))
                  : value.is_array() ? array_of(*value.as_array(), std::move(key))
                                     : scalar_of(value, std::move(key));
  node.line = static_cast<int>(value.source().begin.line);
  return node;
}

/// The line of a key with more dots than `kMostDots`: toml++ 3.3 descends into its tables one
/// within the other and knows no end of it.
constexpr int kMostDots = 1000;

std::optional<int> line_of_endless_key(std::string_view text) {
  int line = 1;
  int dots = 0;
  for (const char c : text) {
    if (c == '.' && ++dots > kMostDots) return line;
    if (c == '\n') ++line;
    if (std::string_view("\n,=[]{}").find(c) != std::string_view::npos) dots = 0;
  }
  return std::nullopt;
}

}  // namespace

Result<YamlNode> read_toml(std::string_view text, std::string_view file) {
  if (const std::optional<int> line = line_of_endless_key(text))
    return bad_input(fmt::format("a key of over {} dots", kMostDots), place_in(file, *line),
                     "a TOML document");
  const toml::parse_result parsed = toml::parse(text, file);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return bad_input(std::string(error.description()),
                     place_in(file, static_cast<int>(error.source().begin.line)),
                     "a TOML document");
  }
  return table_of(parsed.table(), {});
}

}  // namespace memtape::launch
