// SPDX-License-Identifier: Apache-2.0
#include "exports/correction.h"

#include <algorithm>

#include "formats/shell.h"

namespace memtape::exports {
namespace {

/// Whether `word` is a flag that means `option`, by itself or up to its '='.
bool names(std::string_view word, std::string_view option, std::span<const Flag> table) {
  if (!word.starts_with('-')) return false;
  std::string name(word.substr(0, word.find('=')));
  if (name.starts_with("--")) std::ranges::replace(name, '_', '-');
  return std::ranges::any_of(
      table, [&](const Flag& flag) { return flag.name == name && flag.meaning == option; });
}

void change(std::vector<std::string>& words, const Change& change, std::span<const Flag> table) {
  const auto& [option, value] = change;
  // The last one counts.
  const auto last = std::find_if(words.rbegin(), words.rend(), [&](const std::string& word) {
    return names(word, option, table);
  });
  if (last == words.rend()) {
    words.push_back("--" + option);
    if (!value.empty()) words.push_back(value);
    return;
  }
  const std::size_t equals = last->find('=');
  if (equals != std::string::npos)
    *last = last->substr(0, equals + 1) + value;
  else if (last != words.rbegin())
    *std::prev(last) = value;
}

/// A file of a hub repository is named by its type: "-hf x/Qwen3-32B-GGUF:Q8_0".
bool names_another_file(std::vector<std::string>& words, const std::string& type) {
  const auto flag = std::ranges::find_if(
      words, [](const std::string& word) { return word == "-hf" || word == "--hf-repo"; });
  if (flag == words.end() || std::next(flag) == words.end()) return false;
  std::string& named = *std::next(flag);
  named = named.substr(0, named.find(':')) + ":" + type;
  return true;
}

}  // namespace

std::string corrected_command(const launch::Translation& translation,
                              std::span<const std::string> typed, std::span<const Change> changes) {
  const std::vector<std::string>& arguments = translation.arguments;
  std::vector<std::string> words = arguments;
  for (const Change& one : changes) {
    if (one.first != "quantize" || translation.engine != "llamacpp")
      change(words, one, translation.flags);
    else if (!names_another_file(words, one.second))
      return {};
  }
  // Wrappers stay before the program, where they stood there word for word.
  const bool is_last = typed.size() > arguments.size() &&
                       std::ranges::equal(typed.last(arguments.size()), arguments);
  std::span<const std::string> before = translation.program;
  if (is_last) before = typed.first(typed.size() - arguments.size());
  words.insert(words.begin(), before.begin(), before.end());
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_quoted(word);
  return line;
}

}  // namespace memtape::exports
