// SPDX-License-Identifier: Apache-2.0
// Every command: how it is shown, what it takes, and what its words ask for.
#pragma once

#include <span>
#include <string_view>

#include "command_line.h"
#include "option/words.h"

namespace memtape::cli {

/// A command as the overview shows it.
struct Command {
  std::string_view name, operands, summary, example;
  /// What it takes; of a command that reads its words by itself null.
  option::Syntax (*syntax)() = nullptr;
  /// What words that were read ask for.
  Result<Request> (*asked)(const option::Words& words) = nullptr;
  /// In place of both: reads the words after the command's name.
  Result<Request> (*parse)(const Command& command, Arguments arguments) = nullptr;
};

std::span<const Command> commands();

/// The words after the name of a command.
Result<Request> parse_command(const Command& command, Arguments arguments);
/// `memtape [options] -- COMMAND...`: the words before and after the dashes.
Result<Request> parse_launch(Arguments before, Arguments launched);
extern const Command kLaunch;

/// What the command takes after these words: `plan serve` is not `plan train`, and an engine has
/// flags of its own.
option::Syntax syntax_of(const Command& command, Arguments typed);

}  // namespace memtape::cli
