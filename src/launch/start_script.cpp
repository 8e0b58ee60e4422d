// SPDX-License-Identifier: Apache-2.0
#include "launch/wrappers.h"

#include <algorithm>

#include "formats/shell.h"
#include "launch/programs.h"

namespace memtape::launch {
namespace {

using WrappedKind = Unwrapped::Kind;
using ScriptWords = std::vector<std::string>;

/// What a command sets for those after it: "A=1 B=2", "export A=1 B=2".
bool sets_variables(const ScriptWords& words, LaunchCommand& command) {
  const auto assigns = [](const std::string& word) { return shell_assignment(word).has_value(); };
  if (words.front() != "export" && !std::ranges::all_of(words, assigns)) return false;
  for (const std::string& word : words)
    if (auto variable = shell_assignment(word)) command.environment.push_back(*std::move(variable));
  return true;
}

bool script_starts_known_program(const ScriptWords& words, const LaunchCommand& command) {
  const Result<LaunchCommand> inner = unwrap(words, *command.files);
  return inner && (is_known(*inner) || looks_like_trainer_script(*inner));
}

}  // namespace

Unwrapped unwrap_script(std::string_view text, std::span<const std::string> given,
                        LaunchCommand& command) {
  std::vector<ScriptWords> commands = shell_commands(text);
  const Lookup lookup = command.variables();
  for (ScriptWords& words : commands) {
    words = filled_words(words, given, lookup);
    if (words.empty() || sets_variables(words, command)) continue;
    if (!script_starts_known_program(words, command)) continue;
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
  if (const auto noted = note_batch_lines(*text, command); !noted)
    command.remarks.warnings.push_back(noted.error().line());
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  return unwrap_script(with_script_folder(*text, folder), given, command);
}

}  // namespace memtape::launch
