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

constexpr int kMostScripts = 2;  ///< that start one another: one may start itself

}  // namespace

Unwrapped unwrap_script(std::string_view text, std::span<const std::string> given,
                        LaunchCommand& command) {
  const Lookup lookup = command.variables();
  auto kind = WrappedKind::program;
  ScriptWords last;  // what is started by the last command, which is not known
  for (ScriptWords& words : shell_commands(text)) {
    words = filled_words(words, given, lookup);
    if (words.empty() || sets_variables(words, command)) continue;
    const Result<LaunchCommand> inner = unwrap(words, *command.files, command.scripts + 1);
    last = std::move(words);
    kind = WrappedKind::program;
    if (inner && (is_known(*inner) || looks_like_trainer_script(*inner))) {
      kind = WrappedKind::wrapper;
      break;
    }
    if (!inner) continue;
    last = inner->arguments;
    last.insert(last.begin(), inner->path);
    kind = inner->is_module ? WrappedKind::module : WrappedKind::program;
  }
  command.made_words.push_back(std::move(last));
  return {kind, command.made_words.back()};
}

std::optional<Unwrapped> unwrap_script_file(const std::string& path,
                                            std::span<const std::string> given,
                                            LaunchCommand& command) {
  const Result<std::string> text = command.files->read(path);
  if (!text || command.scripts > kMostScripts) return std::nullopt;
  if (const auto noted = note_batch_lines(*text, command); !noted)
    command.remarks.warnings.push_back(noted.error().line());
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  return unwrap_script(with_script_folder(*text, folder), given, command);
}

}  // namespace memtape::launch
