// SPDX-License-Identifier: Apache-2.0
// Command: something that the program can be told to do. Each is described in a file of commands/,
// beside the code that runs it: its line in the overview, what it takes, and what runs it. The
// reading of its words, the help, docs/options.md and the completions in shells are made from that.
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
  std::string_view name = {}, usage = {},
                   summary = {};  ///< `usage` are its operands in the overview
  /// What --explain says of the answer; "" if the answer itself then says more.
  std::string_view explanation = {}, example = {};
  /// The options that --help shows by itself, if there are too many for a screen; it shows the others
  /// after --help --all.
  std::string_view first = {};
  std::span<const Operand> operands = {};
  /// They come before train's options, if it takes those, and before those of all commands.
  std::span<const Option> own = {};
  bool takes_train = false;
  bool takes_tail = false;  ///< "-- COMMAND..."
  /// Replaces these four, if the words decide what the command takes: `plan serve` is not `plan
  /// train`.
  Result<Syntax> (*syntax)(Arguments typed) = nullptr;
  /// Replaces option::read_words.
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
