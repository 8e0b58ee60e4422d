// SPDX-License-Identifier: Apache-2.0
// What a shell makes of a line: words without their quotes, commands between && and ;, variables
// filled in. As much of it as start scripts of containers use; nothing is run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memtape {

/// The words of one line; quotes are taken off, backslashes join lines.
std::vector<std::string> shell_words(std::string_view text);

/// The commands of a script, each as its words: split at newlines, ;, &, && and ||.
std::vector<std::vector<std::string>> shell_commands(std::string_view script);

/// A word as a shell reads it back.
std::string shell_quoted(std::string_view word);

/// $NAME, ${NAME}, ${NAME:-otherwise} and $$ (a dollar) filled in; what `lookup` does not know and
/// has no other value stays as it is.
using Lookup = std::function<std::optional<std::string>(std::string_view name)>;
std::string with_variables(std::string_view text, const Lookup& lookup);

}  // namespace memtape
