// SPDX-License-Identifier: Apache-2.0
// Command: what the program can be told to do. Each is described beside the code that runs it, in a
// file of commands/: how the overview shows it, what it takes, and what runs it. Reading its words,
// the help, docs/options.md and what shells offer are made from that.
#pragma once

#include <span>
#include <string_view>

#include "answer/command_words.h"
#include "terminal.h"

namespace memtape::cli {

using answer::output_of;
using answer::OutputOptions;
using answer::RawOptions;
using answer::ServeCommand;
using option::Arguments;
using option::Operand;
using option::Option;
using option::Syntax;
using option::Words;

struct Command {
  std::string_view name = {}, usage = {}, summary = {},
                   example = {};  ///< usage: its operands in the overview
  std::span<const Operand> operands = {};
  std::span<const Option> own = {};  ///< before train's, if it takes those, and those of all
  bool takes_train = false;
  bool takes_tail = false;  ///< "-- COMMAND..."
  /// In place of these four, where words decide what it takes: `plan serve` is not `plan train`.
  Result<Syntax> (*syntax)(Arguments typed) = nullptr;
  /// In place of option::read_words.
  Result<Words> (*read)(const Syntax& syntax, Arguments typed) = nullptr;
  /// Writes the answer and returns the exit code.
  int (*run)(const Words& words, Terminal& terminal) = nullptr;
};

/// What the command declares.
Syntax declared_syntax(const Command& command);

/// What the command takes after these words.
Result<Syntax> syntax_of(const Command& command, Arguments typed);

/// Reads the words after the command's name and runs it.
int run_command(const Command& command, Arguments typed, Terminal& terminal);

}  // namespace memtape::cli
