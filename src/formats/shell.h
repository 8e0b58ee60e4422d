// SPDX-License-Identifier: Apache-2.0
// What a shell makes of a line: words without their quotes, commands between && and ;, and
// filled-in variables; what $(...) holds is one piece. It knows as much of a shell as the start scripts of containers use. Nothing
// is run.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace memtape {

/// The words of one line. Quotes are removed, and a backslash at the end of a line joins it with
/// the next.
std::vector<std::string> shell_words(std::string_view text);

/// The commands of a script, each as its words. They are split at newlines, ;, &, && and ||.
std::vector<std::vector<std::string>> shell_commands(std::string_view script);

/// The words of the lines that begin with `mark`, as batch systems read them: "#SBATCH --nodes=2".
std::vector<std::string> directive_words(std::string_view script, std::string_view mark);

/// NAME=value, as a shell accepts it before a command. It is nothing for other words.
std::optional<std::pair<std::string, std::string>> shell_assignment(std::string_view word);

/// Quotes a word so that a shell reads it back.
std::string shell_quoted(std::string_view word);

/// Fills in $NAME, ${NAME}, ${NAME:-otherwise} and $$ (a dollar). A name that `lookup` does not
/// know and that has no other value stays as it is.
using Lookup = std::function<std::optional<std::string>(std::string_view name)>;
std::string with_variables(std::string_view text, const Lookup& lookup);

/// The words of a command with their variables filled in. "$@" stands for `given`.
std::vector<std::string> filled_words(std::span<const std::string> words,
                                      std::span<const std::string> given, const Lookup& lookup);

/// A script in which $(dirname "$0"), by which it asks for its own folder, is replaced by that
/// folder.
std::string with_script_folder(std::string_view script, std::string_view folder);

}  // namespace memtape
