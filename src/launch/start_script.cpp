// SPDX-License-Identifier: Apache-2.0
#include "launch/start_script.h"

#include <algorithm>

#include "formats/shell.h"
#include "launch/programs.h"

namespace memtape::launch {
namespace {

using WrappedKind = Unwrapped::Kind;
using ScriptWords = std::vector<std::string>;

/// NAME=value as a word of its own.
bool is_script_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals != std::string_view::npos && equals > 0 &&
         word.substr(0, equals).find_first_of(" -/$.:{") == std::string_view::npos;
}

void note_assignment(std::string_view word, LaunchCommand& command) {
  const std::size_t equals = word.find('=');
  command.environment.emplace_back(word.substr(0, equals), word.substr(equals + 1));
}

/// What a command sets for those after it: "A=1 B=2", "export A=1 B=2".
bool sets_variables(const ScriptWords& words, LaunchCommand& command) {
  const bool exports = words.front() == "export";
  if (!exports && !std::ranges::all_of(words, is_script_assignment)) return false;
  for (const std::string& word : words)
    if (is_script_assignment(word)) note_assignment(word, command);
  return true;
}

/// "$@" stands for the words that the script was given.
void fill_in(ScriptWords& words, std::span<const std::string> given, const LaunchCommand& command) {
  const auto lookup = [&](std::string_view name) -> std::optional<std::string> {
    const std::string* value = command.variable(name);
    return value ? std::optional(*value) : std::nullopt;
  };
  ScriptWords filled;
  for (const std::string& word : words) {
    if (word == "$@")
      filled.insert(filled.end(), given.begin(), given.end());
    else
      filled.push_back(with_variables(word, lookup));
  }
  words = std::move(filled);
}

bool starts_known_program(const ScriptWords& words, const LaunchCommand& command) {
  const Result<LaunchCommand> inner = unwrap(words, *command.files);
  return inner && (is_known(*inner) || looks_like_trainer_script(*inner));
}

/// The folder of the script where it asks for its own: $(dirname "$0").
std::string with_folder(std::string_view text, std::string_view folder) {
  std::string filled(text);
  for (const std::string_view form :
       {"$(dirname \"$0\")", "$(dirname $0)", "$(dirname \"${BASH_SOURCE[0]}\")"})
    for (std::size_t at = 0; (at = filled.find(form, at)) != std::string::npos; at += folder.size())
      filled.replace(at, form.size(), folder);
  return filled;
}

}  // namespace

Unwrapped unwrap_script(std::string_view text, std::span<const std::string> given,
                        LaunchCommand& command) {
  std::vector<ScriptWords> commands = shell_commands(text);
  for (ScriptWords& words : commands) {
    fill_in(words, given, command);
    if (words.empty() || sets_variables(words, command)) continue;
    if (!starts_known_program(words, command)) continue;
    command.made_words.push_back(std::move(words));
    return {WrappedKind::wrapper, command.made_words.back()};
  }
  if (commands.empty()) return {WrappedKind::program, {}};
  command.made_words.push_back(std::move(commands.back()));
  return {WrappedKind::program, command.made_words.back()};
}

std::optional<Unwrapped> unwrap_script_file(const std::string& path,
                                            std::span<const std::string> given,
                                            LaunchCommand& command) {
  const Result<std::string> text = command.files->read(path);
  if (!text) return std::nullopt;
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  return unwrap_script(with_folder(*text, folder), given, command);
}

}  // namespace memtape::launch
