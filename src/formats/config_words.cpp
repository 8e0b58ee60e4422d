// SPDX-License-Identifier: Apache-2.0
#include "formats/config_words.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "formats/yaml.h"

namespace memtape {
namespace {

bool is(const YamlNode& node, std::string_view truth) {
  if (node.kind != YamlNode::Kind::scalar || node.quoted) return false;
  return to_json(node) == truth;
}

/// "key: value" as a flag and its values; a switch that is off is its opposite, or no flag.
void add_words(const YamlNode& node, std::span<const Flag> table, std::vector<std::string>& words) {
  if (is(node, "false")) {
    std::string opposite = "--no-" + node.key;
    std::ranges::replace(opposite, '_', '-');
    if (std::ranges::find(table, opposite, &Flag::name) != table.end()) words.push_back(opposite);
    return;
  }
  words.push_back("--" + node.key);
  if (is(node, "true")) return;
  if (node.kind == YamlNode::Kind::scalar) {
    words.push_back(node.text);
  } else if (node.kind == YamlNode::Kind::sequence) {
    for (const YamlNode& item : node.children)
      words.push_back(item.kind == YamlNode::Kind::scalar ? item.text : to_json(item));
  } else {
    words.push_back(to_json(node));
  }
}

/// Takes `--config FILE` or `--config=FILE` out of the words.
std::optional<std::string> take_config(std::vector<std::string>& words) {
  constexpr std::string_view kFlag = "--config", kAttached = "--config=";
  const auto at = std::ranges::find_if(words, [&](const std::string& word) {
    return word.starts_with(kAttached) || (word == kFlag && &word != &words.back());
  });
  if (at == words.end()) return std::nullopt;
  const bool is_attached = at->starts_with(kAttached);
  std::string file = is_attached ? at->substr(kAttached.size()) : *(at + 1);
  words.erase(at, at + (is_attached ? 1 : 2));
  return file;
}

}  // namespace

Result<std::vector<std::string>> with_config_file(std::vector<std::string> words,
                                                  std::span<const Flag> table, const Files& files) {
  const std::optional<std::string> file = take_config(words);
  if (!file) return words;
  const Result<std::string> text = files.read(*file);
  if (!text) return tl::unexpected(text.error());
  const Result<YamlNode> mapping = read_yaml_mapping(*text, *file);
  if (!mapping) return tl::unexpected(mapping.error());
  std::vector<std::string> given;
  for (const YamlNode& node : mapping->children) add_words(node, table, given);
  // A model that is named as an operand stays the first word.
  const bool is_operand = !words.empty() && !words.front().starts_with('-');
  words.insert(words.begin() + (is_operand ? 1 : 0), given.begin(), given.end());
  return words;
}

}  // namespace memtape
